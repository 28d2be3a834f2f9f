# C types for mailbox.py.


cdef class Mailbox:
    cdef public object part
    cdef public long long entity
    cdef public long long kind
    cdef public long long version
    cdef public long long generation
    cdef public long long horizon
    cdef public list inbox
    cdef public long long inbox_bytes
    cdef public dict channels
    cdef public bint is_ending
    cdef public set open
    cdef public dict strays

    cpdef bint is_full(self, object limits) except -1
    cpdef admit_held(self, object limits)
    cpdef object draw_generation(self, double now, long long above=*)
