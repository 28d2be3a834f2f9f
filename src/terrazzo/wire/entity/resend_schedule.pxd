# C types for resend_schedule.py: its fields, and direct calls for whoever speaks in a tick.
import cython

from terrazzo.wire.entity.channel cimport Channel


cdef class ResendSchedule:
    cdef public dict marked
    cdef public list timers
    cdef long long _serial
    cdef long long _old
    cdef object _acks

    cpdef mark(self, Channel channel)
    cpdef urge(self, Channel channel)
    cpdef owe_ack(self, Channel channel, double now, object limits)
    cpdef set_timer(self, Channel channel, double at)
    @cython.locals(channel=Channel, at=cython.double, serial=cython.longlong)
    cpdef Channel next_due(self, double now)
    cdef _enter(self, Channel channel)
    cdef _drop_entry(self, Channel channel)
    cpdef double backoff(self, Channel channel, object limits) except -1
    cpdef await_answer(self, Channel channel, double now, object limits)
    cpdef rest(self, Channel channel, double now, object limits)
    cpdef retry_at(self, Channel channel, double at)
