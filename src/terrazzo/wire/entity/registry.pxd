# C types for registry.py: its fields, and direct calls on the way of a frame.
import cython

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.limits cimport ChannelLimits
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.places cimport Place
from terrazzo.wire.entity.resend_schedule cimport ResendSchedule


cdef class PartRegistry:
    cdef public ChannelLimits limits
    cdef public dict boxes
    cdef public dict places
    cdef public ResendSchedule schedule
    cdef public dict mailed
    cdef public object channel_type
    cdef object _host

    @cython.locals(channel=Channel)
    cpdef Channel channel(self, Mailbox box, object peer)
    cpdef Channel find(self, Mailbox box, object peer)
    @cython.locals(channel=Channel)
    cpdef Channel find_by_number(self, Mailbox box, long long entity, long long kind)
    @cython.locals(place=Place)
    cpdef Place place(self, object part)
    cpdef forget(self, Channel channel)
    cpdef unhook(self, Channel channel)
