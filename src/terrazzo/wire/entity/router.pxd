# C types for router.py: its fields, and direct calls on the way of a frame. Methods that are not named here are called as
# in Python, and may be overridden by the deliberately broken forms of `sim.mutations`.
import cython

from terrazzo._speed.rows cimport RowReader, RowWriter
from terrazzo.wire.entity.ahead cimport Ahead
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.limits cimport ChannelLimits
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.places cimport Place
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.entity.resend_schedule cimport ResendSchedule


cdef class Router:
    cdef dict __dict__
    cdef public object me
    cdef public object counts
    cdef public PartRegistry _registry
    cdef public ResendSchedule _schedule
    cdef public object _host
    cdef public object _outbox
    cdef public object _exchange
    cdef public object _ended_parts
    cdef Ahead _ahead
    cdef public object _local
    cdef dict _rows
    cdef public double _sweep_at

    @cython.locals(channels=list, at=Py_ssize_t)
    cpdef on_tick(self)
    @cython.locals(box=Mailbox, channel=Channel, place=Place, known=Place, registry=PartRegistry)
    cdef _on_frame(self, object frame, object via)
    @cython.locals(place=Place, awaits_answer=cython.bint, limits=ChannelLimits)
    cdef _send(self, Channel channel, double now)
    @cython.locals(box=Mailbox, channel=Channel, row=RowReader, registry=PartRegistry)
    cpdef bint on_rows(self, object via, bytes data, object otherwise) except -1
    @cython.locals(place=Place, box=Mailbox, registry=PartRegistry)
    cdef bint _on_row(self, Channel channel, RowReader row, object via, double now) except -1
    @cython.locals(rows=RowWriter)
    cdef _post_next(self, Channel channel, object app, ChannelLimits limits)
    @cython.locals(writer=RowWriter)
    cdef _flush(self)
    @cython.locals(rows=RowWriter)
    cdef _post(self, object frame, object app)
