# C types for client_row.py.
import cython

from terrazzo.base.shown cimport Shown
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.rates cimport Bucket

cdef int _CELL, _WANT, _RELEASED
cdef Py_ssize_t _WANTS_MAX


cdef class ClientRow:
    cdef public object proxy
    cdef public object cell
    cdef public int entity
    cdef public Mailbox box
    cdef public object session
    cdef public bint is_ready
    cdef public bint has_cell
    cdef public bint is_there
    cdef public bint is_direct
    cdef public Bucket flood
    cdef public long long witness
    cdef public Shown shown
    cdef public object updates
    cdef public double moved_at

    @cython.locals(channel=Channel)
    cpdef object home(self, PartRegistry registry)
    @cython.locals(kind=cython.int, shown=Shown)
    cpdef bint read_answer(self, bytes message) except -1
    @cython.locals(at=Py_ssize_t, count=Py_ssize_t, stop=Py_ssize_t, payload=bytes, channel=Channel, wants=tuple, released=tuple)
    cpdef bint send_wants(self, PartRegistry registry, double now) except -1
    cpdef bint is_present(self, long long witness) except -1
    @cython.locals(shown=Shown, passed=list, before=bytes)
    cpdef pass_on(self, list messages)
    cpdef send_all(self, list messages)
    cpdef send(self, bytes message, bint reliable)
    cpdef send_loose(self, bytes message)
