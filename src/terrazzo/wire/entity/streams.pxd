# C types for streams.py.


cdef class OutStream:
    cdef public long long born
    cdef public long long first
    cdef public long long generation
    cdef public long long sent
    cdef public bint is_last
    cdef public list buffer
    cdef public long long size


cdef class InStream:
    cdef public long long expected
    cdef public long long generation
    cdef public long long untaken
    cdef public bint is_resuming
    cdef public dict held
