# C types for places.py.


cdef class Place:
    cdef public long long version
    cdef public object app
    cdef public dict channels
    cdef public long long left
    cdef public double locate_at
    cdef public double expires_at

    cpdef bint is_former(self, long long version) except -1
    cpdef bint has(self, object channel) except -1
