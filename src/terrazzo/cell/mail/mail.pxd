# C types for mail.py.
import cython

from terrazzo._speed.wants cimport WantsReader
from terrazzo.cell.client.sent cimport ClientRecord
from terrazzo.cell.client.witness cimport Witness
from terrazzo.wire.entity.ahead cimport Ahead
from terrazzo.wire.entity.letters cimport Letters
from terrazzo.wire.entity.mailbox cimport Mailbox


cdef class Mail:
    cdef object _core
    cdef object _switchboard
    cdef object _clients
    cdef object _scheduler
    cdef object _teleports

    cdef WantsReader _wants
    cdef Ahead _ahead

    @cython.locals(boxes=list, at=Py_ssize_t, box=Mailbox, reals=dict)
    cpdef run(self)
    @cython.locals(letters=Letters, letter=tuple)
    cdef _take(self, Mailbox box, object real, double now)
    @cython.locals(witness=Witness, sent=ClientRecord, wants=WantsReader, i=Py_ssize_t)
    cdef _on_wants(self, object real)
    cdef _read(self, object real, object source, object message)
    cdef bint _obey(self, object real, object message) except -1
