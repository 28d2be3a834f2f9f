# C types for intake.py.
import cython

from terrazzo.base.client_batch cimport ClientBatch
from terrazzo.base.client_row cimport ClientRow
from terrazzo.base.standstill cimport Standstill

cdef int _WANT, _RELEASED
cdef object _Received


cdef class Intake:
    cdef ClientBatch _batch
    cdef object _confinement
    cdef Standstill _standstill

    @cython.locals(client=ClientRow)
    cpdef take(self, list events, dict clients, object on_other, double now)
    @cython.locals(message=bytes, taken=Py_ssize_t)
    cdef _take_messages(self, ClientRow client, list messages, double now)
    cdef _take_answer(self, ClientRow client, bytes message, double now)
