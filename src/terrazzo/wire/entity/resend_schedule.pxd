# C types for resend_schedule.py: its fields, and direct calls for the code that sends in a tick.
import cython

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.limits cimport ChannelLimits


cdef class ResendSchedule:
    cdef public list marked
    cdef public list timers
    cdef long long _serial
    cdef long long _old
    cdef object _acks
    cdef double _acks_due
    cdef list _acks_last

    cpdef mark(self, Channel channel)
    cpdef list take_marked(self)
    cpdef urge(self, Channel channel)
    cpdef owe_ack(self, Channel channel, double now, ChannelLimits limits)
    @cython.locals(channel=Channel, due=cython.double)
    cpdef urge_owed(self, double now)
    cpdef set_timer(self, Channel channel, double at)
    @cython.locals(channel=Channel, at=cython.double, serial=cython.longlong)
    cpdef Channel next_due(self, double now)
    cdef _enter(self, Channel channel)
    cdef _drop_entry(self, Channel channel)
    cpdef double backoff(self, Channel channel, ChannelLimits limits) except -1
    cpdef await_answer(self, Channel channel, double now, ChannelLimits limits)
    cpdef rest(self, Channel channel, double now, ChannelLimits limits)
    cpdef retry_at(self, Channel channel, double at)
