# C types for sent.py: its fields, and direct calls between its methods and into the kernels.
import cython

from terrazzo._speed.area cimport Area
from terrazzo._speed.sight cimport Sight
from terrazzo._speed.tally cimport Tally
from terrazzo._speed.updates cimport UpdateRows, Words
from terrazzo.cell.client.aliases cimport Aliases
from terrazzo.cell.client.budget cimport Budget

cdef int DESCRIBED, WITHHELD, WANTED, GONE


cdef class ClientRecord:
    cdef public Sight sight
    cdef public Aliases aliases
    cdef public Budget budget
    cdef public list pending
    cdef public dict left
    cdef public dict _away
    cdef public dict _remembered
    cdef public dict _ends
    cdef public object _awaited
    cdef public dict _undescribed
    cdef Area _area
    cdef dict _bodies
    cdef object _body
    cdef list _loose
    cdef Tally _tally
    cdef double _forget_at
    cdef double _patient_until
    cdef long long _queued_bytes
    cdef object _tombstones

    cpdef tuple get(self, int entity)
    cpdef tuple entry(self, int entity)
    @cython.locals(flags=cython.int)
    cpdef bint has_described(self, int entity) except -1
    cpdef bint may_enter(self, object other) except -1
    @cython.locals(number=cython.longlong)
    cpdef add(self, object other, int flag)
    cpdef set_flags(self, int entity, int flags)
    cpdef drop_all(self, double now)
    @cython.locals(alias=cython.int, entity=cython.int, remembered=cython.longlong)
    cpdef on_wants(self, object message)
    cpdef release(self, int alias)
    @cython.locals(flags=cython.int)
    cpdef want(self, int entity, long long remembered)
    cdef _await_want(self, int entity, int alias)
    @cython.locals(alias=cython.int, entity=cython.int, flags=cython.int)
    cdef _stop_waiting(self, double now)
    cpdef add_own_event(self, object event)
    cpdef add_own_message(self, object subject, bytes message)
    cdef _queue(self, long row, bytes message)
    cdef _queue_event(self, int alias, object event)
    @cython.locals(room=cython.double, own=cython.longlong, used=cython.longlong, entity=cython.int, loose=list)
    cpdef update(self, double now, long tick, double radius, Words words, UpdateRows rows)
    @cython.locals(pending=list)
    cdef _write_pending(self, Words words)
    @cython.locals(entity=cython.int, tried=dict, is_granted=cython.bint)
    cdef _grant(self, double room)
    @cython.locals(alias=cython.int, flags=cython.int, slot=cython.int)
    cdef bint _bring_nearer(self, int entity) except -1
    @cython.locals(alias=cython.int)
    cdef bint _announce(self, object other, int entity) except -1
    @cython.locals(number=cython.longlong, level=cython.int, area=Area)
    cdef _describe(self, object other, int entity, int slot, int alias, int flags)
    @cython.locals(alias=cython.int, sent=cython.longlong, number=cython.longlong, level=cython.int, level_now=cython.int)
    cdef _send_news(self, int entity)
    @cython.locals(slot=cython.int)
    cdef _send_since(self, object other, int alias, long long sent)
    cdef bint _repeat(
        self, object history, int alias, long long sent, int level, double distance, bint is_here
    ) except -1
    cdef _catch_up(self, object other, int alias, list subjects)
    cdef _change_level(self, object other, int alias, int level, int level_now)
    @cython.locals(ends=dict, entity=cython.int, flags=cython.int)
    cdef _end_all(self, double now)
    @cython.locals(alias=cython.int, sent=cython.longlong)
    cdef _hide(self, int entity, int flags)
    @cython.locals(alias=cython.int, sent=cython.longlong, number=cython.longlong)
    cpdef part(self, int entity, int flags, double now)
    cdef long long _repeat_tombstone(self, int entity, int alias, long long sent, int flags) except? -1
    cdef _close(self, int alias, int entity, object other)
    @cython.locals(rider=cython.int, flags=cython.int)
    cdef _strand(self, object riders)
    cdef _forget(self, int entity, long long number, double now)
    cdef _forget_left(self, double now)
