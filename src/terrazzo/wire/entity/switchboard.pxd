# C types for switchboard.py: its fields, and what is called for each client and tick. All methods may be overridden, as
# the deliberately broken forms of `sim.mutations` do.
import cython

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.entity.resend_schedule cimport ResendSchedule
from terrazzo.wire.entity.router cimport Router
from terrazzo.wire.entity.streams cimport InStream, OutStream


cdef class Switchboard:
    cdef dict __dict__
    cdef public object me
    cdef public Router router
    cdef public dict boxes
    cdef public dict places
    cdef public ResendSchedule schedule
    cdef public object counts
    cdef public PartRegistry _registry
    cdef public dict _mailed
    cdef public object _host
    cdef public object _exchange

    @cython.locals(box=Mailbox, registry=PartRegistry)
    cpdef _send(self, object source, object to, bytes payload, bint is_urgent)
    @cython.locals(registry=PartRegistry)
    cdef _put(self, Channel channel, bytes payload, bint is_urgent)
    @cython.locals(box=Mailbox)
    cpdef Channel channel_of(self, object source, object to)
    @cython.locals(box=Mailbox, registry=PartRegistry)
    cpdef send_in(self, Channel channel, bytes payload)
    @cython.locals(channel=Channel, stream=OutStream)
    cpdef tuple sent_up_to(self, object source, object to)
    @cython.locals(box=Mailbox, channel=Channel, stream=InStream)
    cpdef bint has_taken(self, object part, object peer, tuple mark) except -1
