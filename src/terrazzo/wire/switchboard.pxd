# C types for switchboard.py: its fields, and direct calls on the way of a frame. What is not named here is called as in
# Python, and may be overridden by the deliberately broken forms of `sim.mutations`.
import cython

from terrazzo.wire.channel cimport Channel
from terrazzo.wire.mailbox cimport Mailbox


cdef class Place:
    cdef public long long version
    cdef public object app
    cdef public dict channels
    cdef public long long left
    cdef public double locate_at
    cdef public double expires_at


cdef class Switchboard:
    cdef dict __dict__
    cdef public object me
    cdef public object limits
    cdef public dict boxes
    cdef public dict places
    cdef public dict counts
    cdef public object _host
    cdef public object _outbox
    cdef public object _exchange
    cdef public object _channel_type
    cdef public dict _mailed
    cdef public dict _dirty
    cdef public list _timers
    cdef public long long _timer_serial
    cdef public object _acks
    cdef public object _local
    cdef public dict _ended
    cdef public double _sweep_at

    @cython.locals(box=Mailbox, channel=Channel, place=Place)
    cdef _on_frame(self, object frame, object via)
    cdef _mark(self, Channel channel)
    @cython.locals(place=Place, awaits_answer=cython.bint)
    cdef _speak(self, Channel channel, double now)
    cdef bint _is_ours(self, Channel channel) except -1
    cdef _post(self, object frame, object app)
    cdef double _backoff(self, Channel channel) except -1
    cdef _rest(self, Channel channel, double now)
    cdef _set_timer(self, Channel channel, double at)
    @cython.locals(channel=Channel)
    cdef Channel _channel(self, Mailbox box, object peer)
    @cython.locals(place=Place)
    cpdef Place _place(self, object part)
