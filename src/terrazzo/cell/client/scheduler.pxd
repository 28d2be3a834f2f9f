# C types for scheduler.py. What is not named here is called as in Python, and may be replaced in an object.
import cython

from terrazzo._speed.updates cimport UpdateRows, Words
from terrazzo.cell.client.witness cimport Witness
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.streams cimport OutStream


cdef class ClientScheduler:
    cdef dict __dict__
    cdef public double throttle
    cdef object _core
    cdef object _clients
    cdef public object cpu_s
    cdef double _tick_bytes
    cdef object _last_at
    cdef double _done_cpu_s
    cdef double _served_cpu_s
    cdef double _after_s
    cdef long _served
    cdef double _turns
    cdef long _first
    cdef public dict _updates
    cdef Words _words
    cdef double _now
    cdef long _tick
    cdef list _parting

    cdef bint _is_late(self, double now) except -1
    @cython.locals(most=cython.long)
    cdef long _most(self, long clients) except -1
    cdef _serve(self, object real, object witness)
    @cython.locals(
        words=Words, rows=UpdateRows, channel=Channel, stream=OutStream, buffer=list, generation=cython.longlong,
        number=cython.longlong, lost=cython.long,
    )
    cdef _write(self, object real, Witness witness)
    @cython.locals(box=Mailbox)
    cdef Channel _channel_of(self, Witness witness)
    cpdef UpdateRows rows_for(self, object base)
