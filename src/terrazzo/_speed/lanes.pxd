# The classes of lanes.pyx, for the batch of a BaseApp.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t


cdef class MoveLane:
    cdef readonly int32_t entity
    cdef public uint64_t number
    cdef readonly uint32_t tag
    cdef public bint waits
    cdef public object client
    cdef uint8_t place[24]


cdef class MoveLanes:
    cdef dict _open
    cdef list _waiting
    cdef uint32_t _last

    cpdef list take_waiting(self)
    cpdef keep(self, list lanes)
    cdef int _note(self, MoveLane lane, const uint8_t* place) except -1


cpdef bytes pack_rows(list lanes)
