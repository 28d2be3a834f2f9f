# C types for mailbox.py.
from terrazzo.wire.entity.limits cimport ChannelLimits


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
    cdef public object recent
    cdef public object owner
    cdef public bint is_here
    cdef public bint is_ending
    cdef public set open
    cdef public dict strays

    cpdef bint is_full(self, ChannelLimits limits) except -1
    cpdef admit_held(self, ChannelLimits limits)
    cpdef object draw_generation(self, double now, long long above=*)
