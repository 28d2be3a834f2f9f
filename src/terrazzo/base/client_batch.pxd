# C types for client_batch.py.
import cython

from terrazzo.base.client_row cimport ClientRow
from terrazzo.wire.entity.registry cimport PartRegistry

cdef double _MOVE_S


cdef class ClientBatch:
    cdef public object lanes
    cdef dict _rows
    cdef PartRegistry _registry
    cdef dict _moves
    cdef dict _wants
    cdef dict _later

    cpdef add_move(self, object entity, bytes row)
    cpdef add_wants(self, ClientRow client)
    @cython.locals(client=ClientRow, wants=dict)
    cpdef send_wants(self, double now)
    @cython.locals(client=ClientRow, table=dict, kept=dict, moves=dict, by_app=dict, rows=list)
    cpdef dict take_moves(self, double now)
