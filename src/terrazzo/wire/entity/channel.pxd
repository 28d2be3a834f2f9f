# C types for channel.py: the fields of a channel, and direct calls between its methods. All of them can be overridden, as
# the deliberately broken forms of `sim.mutations` do.
import cython

from terrazzo._speed.rows cimport RowReader, RowWriter
from terrazzo.wire.entity.limits cimport ChannelLimits
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.places cimport Place
from terrazzo.wire.entity.streams cimport InStream, OutStream


cdef class Channel:
    # In the order in which a turn reads them: what is read together is in one line of the cache.
    cdef public Mailbox box
    cdef public Place place
    cdef public OutStream outgoing
    cdef public InStream incoming
    cdef public long long peer_entity
    cdef public long long peer_part
    cdef public long long heard
    cdef public long long confirmed
    cdef public bint is_marked
    cdef public bint is_hooked
    cdef public bint owes_frame
    cdef public bint pinned
    cdef public bint is_noted
    cdef public bint is_waited_for
    cdef public object closed
    cdef public object renew
    cdef public object refused
    cdef public long long acked
    cdef public double ack_due
    cdef public double due
    cdef public long attempts
    cdef public double touched_at
    cdef public double received_at
    cdef public double waiting_since
    cdef public long long turn
    cdef public long long entry
    cdef public double entry_at
    cdef public object peer

    @cython.locals(stream=OutStream, size=cython.longlong)
    cpdef check_room(self, bytes payload, ChannelLimits limits)
    @cython.locals(stream=OutStream)
    cpdef send(self, bytes payload, double now)
    @cython.locals(stream=OutStream, sent=cython.longlong)
    cpdef bint has_unsent(self, ChannelLimits limits) except -1
    @cython.locals(
        box=Mailbox, incoming=InStream, stream=OutStream, buffer=list, ack_generation=cython.longlong,
        acked=cython.longlong, generation=cython.longlong, first=cython.longlong, born=cython.longlong,
        number=cython.longlong, start=cython.longlong, end=cython.longlong,
    )
    cpdef bint row(self, RowWriter rows, ChannelLimits limits) except -1
    cpdef bint is_plain(self) except -1
    cpdef long long number_acked(self) except? -7
    @cython.locals(incoming=InStream)
    cpdef object frame(self, object home, ChannelLimits limits)
    cpdef object _ack(self)
    @cython.locals(stream=OutStream, buffer=list, start=cython.longlong, end=cython.longlong, number=cython.longlong)
    cpdef object _next_outgoing(self, ChannelLimits limits)
    @cython.locals(
        buffer=list, start=cython.longlong, end=cython.longlong, most=cython.longlong, size=cython.longlong
    )
    cpdef long long _end_of_next(self, OutStream stream, ChannelLimits limits) except -1
    cpdef send_again(self)
    @cython.locals(stream=OutStream)
    cpdef bint awaits_answer(self) except -1
    cpdef bint takes(self, InStream incoming, ChannelLimits limits) except -1
    cpdef object rest(self, double now, ChannelLimits limits)
    @cython.locals(life=cython.longlong, version=cython.longlong, heard=cython.longlong)
    cpdef list on_frame(self, object frame, double now, ChannelLimits limits)
    @cython.locals(box=Mailbox, incoming=InStream)
    cpdef bint on_row(self, RowReader row, double now, ChannelLimits limits) except -1
    cpdef _follow_new_life(self, object stream)
    cpdef _undo(self, InStream incoming, long long count)
    @cython.locals(stream=OutStream, buffer=list, acked=cython.longlong, index=cython.longlong)
    cpdef _on_ack(self, long long generation, long long expected, double now)
    @cython.locals(stream=OutStream)
    cpdef _on_closed(self, object frame)
    @cython.locals(stream=OutStream)
    cpdef list _on_over(self, tuple ack)
    @cython.locals(incoming=InStream)
    cpdef _on_stream(self, object stream, double now, ChannelLimits limits)
    cpdef object _begin(self, object stream)
    cpdef _close(self, long long generation)
    @cython.locals(box=Mailbox)
    cpdef _admit(self, InStream incoming, long long number, object payloads, ChannelLimits limits)
    @cython.locals(incoming=InStream, box=Mailbox, held=dict)
    cpdef admit_held(self, ChannelLimits limits)
    @cython.locals(box=Mailbox)
    cdef _put_into_inbox(self, InStream incoming, bytes payload)
