# C types for delivery.py.
import cython

from terrazzo._speed.updates cimport UpdateReader
from terrazzo.base.client_row cimport ClientRow
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.letters cimport Letters
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.entity.streams cimport InStream

cdef int _CELL, _PLACES


cdef class Delivery:
    cdef public dict rows
    cdef object _host
    cdef PartRegistry _registry
    cdef object _confinement
    cdef object _take_other
    cdef object _keep

    @cython.locals(client=ClientRow, box=Mailbox)
    cpdef take_mail(self)
    @cython.locals(letters=Letters, letter=tuple)
    cdef _take_letters(self, ClientRow client, Mailbox box)
    @cython.locals(to_client=tuple)
    cdef _take_letter(self, ClientRow client, object source, bytes payload)
    @cython.locals(client=ClientRow, message=bytes, table=dict)
    cpdef pass_updates(self, object source, UpdateReader updates)
    @cython.locals(channel=Channel, stream=InStream)
    cdef bint _is_next(self, ClientRow client, object source, UpdateReader update) except -1
