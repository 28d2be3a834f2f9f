# C types for router.py: its fields, and direct calls on the way of a frame. What is not named here is called as in
# Python, and may be overridden by the deliberately broken forms of `sim.mutations`.
import cython

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.places cimport Place
from terrazzo.wire.entity.resend_schedule cimport ResendSchedule


cdef class Router:
    cdef dict __dict__
    cdef public object me
    cdef public object limits
    cdef public dict boxes
    cdef public dict places
    cdef public ResendSchedule schedule
    cdef public dict counts
    cdef public object _host
    cdef public object _outbox
    cdef public object _exchange
    cdef public object _channel_type
    cdef public object _ended_parts
    cdef public dict _mailed
    cdef public object _local
    cdef public double _sweep_at

    @cython.locals(box=Mailbox, channel=Channel, place=Place, known=Place)
    cdef _on_frame(self, object frame, object via)
    @cython.locals(place=Place, awaits_answer=cython.bint)
    cdef _speak(self, Channel channel, double now)
    cdef _post(self, object frame, object app)
    @cython.locals(channel=Channel)
    cdef Channel _channel(self, Mailbox box, object peer)
    @cython.locals(place=Place)
    cpdef Place _place(self, object part)
