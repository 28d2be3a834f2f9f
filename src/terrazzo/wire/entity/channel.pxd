# C types for channel.py: the fields of a channel, and direct calls between its methods. All of them can be overridden, as
# the deliberately broken forms of `sim.mutations` do.
import cython

from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.places cimport Place
from terrazzo.wire.entity.streams cimport InStream, OutStream


cdef class Channel:
    cdef public Mailbox box
    cdef public object peer
    cdef public Place place
    cdef public bint pinned
    cdef public long long heard
    cdef public long long confirmed
    cdef public OutStream outgoing
    cdef public InStream incoming
    cdef public bint owes_frame
    cdef public long long acked
    cdef public bint is_waited_for
    cdef public bint is_noted
    cdef public object closed
    cdef public object renew
    cdef public object refused
    cdef public double due
    cdef public long long turn
    cdef public long long entry
    cdef public double entry_at
    cdef public double ack_due
    cdef public long attempts
    cdef public double touched_at
    cdef public double waiting_since

    @cython.locals(stream=OutStream, size=cython.longlong)
    cpdef check_room(self, bytes payload, object limits)
    @cython.locals(stream=OutStream)
    cpdef send(self, bytes payload, double now)
    @cython.locals(stream=OutStream)
    cpdef bint has_unsent(self, object limits) except -1
    @cython.locals(incoming=InStream)
    cpdef object frame(self, object home, object limits)
    cpdef object _ack(self)
    @cython.locals(stream=OutStream, buffer=list, start=cython.longlong, end=cython.longlong, number=cython.longlong)
    cpdef object _next_outgoing(self, object limits)
    cpdef send_again(self)
    cpdef bint takes(self, InStream incoming, object limits) except -1
    cpdef object rest(self, double now, object limits)
    @cython.locals(life=cython.longlong, version=cython.longlong, heard=cython.longlong)
    cpdef list on_frame(self, object frame, double now, object limits)
    cpdef _follow_new_life(self, object stream)
    cpdef _undo(self, InStream incoming, long long count)
    @cython.locals(stream=OutStream, generation=cython.longlong, expected=cython.longlong)
    cpdef _on_ack(self, tuple ack, double now)
    @cython.locals(stream=OutStream)
    cpdef _on_closed(self, object frame)
    @cython.locals(stream=OutStream)
    cpdef list _on_over(self, tuple ack)
    @cython.locals(incoming=InStream)
    cpdef _on_stream(self, object stream, double now, object limits)
    cpdef object _begin(self, object stream)
    cpdef _close(self, long long generation)
    @cython.locals(number=cython.longlong)
    cpdef _admit(self, InStream incoming, object stream, object limits)
    @cython.locals(incoming=InStream, box=Mailbox, held=dict)
    cpdef admit_held(self, object limits)
