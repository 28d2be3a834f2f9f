# C types for scheduler.py. What is not named here is called as in Python, and may be replaced in an object.
import cython

from terrazzo._speed.updates cimport UpdateRows, Words
from terrazzo.cell.client.ahead cimport Ahead
from terrazzo.cell.client.witness cimport Witness
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.streams cimport OutStream
from terrazzo.wire.entity.switchboard cimport Switchboard


cdef class ClientScheduler:
    cdef dict __dict__
    cdef public double throttle
    cdef object _core
    cdef object _clients
    cdef Switchboard _switchboard
    cdef Ahead _ahead
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
    @cython.locals(count=cython.long, at=cython.long, served=cython.long, least=cython.long, is_look=cython.bint)
    cdef long _serve_in_turn(self, list witnesses, long most, double until) except -1
    cdef _serve(self, Witness witness)
    @cython.locals(
        words=Words, rows=UpdateRows, channel=Channel, stream=OutStream, buffer=list, generation=cython.longlong,
        number=cython.longlong, lost=cython.long,
    )
    cdef _write(self, Witness witness)
    @cython.locals(channel=Channel)
    cdef Channel _channel_of(self, Witness witness)
    @cython.locals(channel=Channel)
    cpdef bint send_reliable(self, Witness witness, bytes payload) except -1
    cpdef UpdateRows rows_for(self, object base)
