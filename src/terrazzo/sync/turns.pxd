# C types for turns.py.
import cython

cdef int _PLACES
cdef list _PLACES_HEADS, _LOOSE_HEADS
cdef bytes _IS_PROPERTY


cdef class Turns:
    cdef public long long now
    cdef readonly bint has_ended

    @cython.locals(ahead=cython.longlong)
    cpdef long long renew(self, long long sent) except -1
    cpdef end(self)
    cpdef long long begin(self) except -1
    cpdef long long begin_again(self) except -1
    @cython.locals(ago=cython.longlong)
    cpdef bint covers(self, long long sent, long long begun) except -1
    @cython.locals(turn=cython.int)
    cpdef bytes mark(self, bytes message)


cdef class LooseSent:
    cdef Turns _turns
    cdef set _ids
    cdef dict _sent
    cdef dict _sure

    @cython.locals(kind=cython.int)
    cpdef bint has_to_wait(self, bytes message) except -1
    @cython.locals(kind=cython.int)
    cpdef add(self, bytes message)
    cpdef end(self, int alias)
    cpdef clear(self)
    @cython.locals(kind=cython.int, before=bytes)
    cpdef bytes before(self, bytes message)
    cdef long long _key(self, int alias, int kind) except -1
