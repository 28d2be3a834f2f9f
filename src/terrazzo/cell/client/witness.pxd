# C types for witness.py.
import cython

from terrazzo._speed.sight cimport Sight
from terrazzo.cell.client.sent cimport ClientRecord
from terrazzo.wire.entity.channel cimport Channel

cdef int DESCRIBED, WITHHELD, IN_AREA, MANUAL, GONE, PARTED


cdef class Witness:
    cdef public object body
    cdef public int entity
    cdef public object base_part
    cdef public Channel channel
    cdef public long long number
    cdef public double radius
    cdef public double hysteresis
    cdef public ClientRecord sent
    cdef bint _has_hooks
    cdef object _interests
    cdef object _seeking
    cdef object _tombstones
    cdef public long _interest
    cdef public dict _unjudged
    cdef public double _patience_until
    cdef public object _awaited

    cpdef on_wants(self, object message)
    cpdef enter(self, object other)
    @cython.locals(flags=cython.int)
    cpdef leave(self, int entity)
    @cython.locals(unjudged=dict, bodies=dict)
    cpdef bint judge(self, double now) except -1
    cpdef _judge_later(self, int entity)
    @cython.locals(
        sight=Sight, flags=cython.int, slot=cython.int, sent=cython.longlong, number=cython.longlong,
        is_late=cython.bint, is_early=cython.bint, is_awaited=cython.bint,
    )
    cdef bint _judge_one(self, int entity, object other, double now) except -1
    cdef bint _is_awaited(self, int entity, int slot, long long sent) except -1
    @cython.locals(sight=Sight, flags=cython.int)
    cdef _come(self, object other, int flag)
    cdef _let_in(self, object other, int flag, int flags)
    cdef _let_go(self, int entity, int flags)
