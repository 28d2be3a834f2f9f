# C types for delivery.py.
import cython

from terrazzo.base.client_row cimport ClientRow
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.letters cimport Letters
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.entity.streams cimport InStream

cdef int _CELL


cdef class Delivery:
    cdef public dict rows
    cdef object _host
    cdef PartRegistry _registry
    cdef object _confinement
    cdef object _take_other
    cdef object _keep

    @cython.locals(client=ClientRow, rows=dict, box=Mailbox)
    cpdef take_mail(self)
    @cython.locals(letters=Letters, letter=tuple)
    cdef _take_letters(self, ClientRow client, Mailbox box)
    @cython.locals(to_client=tuple)
    cdef _take_letter(self, ClientRow client, object source, bytes payload)
    @cython.locals(client=ClientRow, update=tuple, table=dict)
    cpdef pass_updates(self, object source, list updates)
    @cython.locals(channel=Channel, stream=InStream, generation=cython.longlong, number=cython.longlong)
    cdef bint _is_next(self, ClientRow client, object source, tuple update) except -1
