# C types for client_batch.py.
import cython

from terrazzo._speed.lanes cimport MoveLane, MoveLanes
from terrazzo.base.client_row cimport ClientRow
from terrazzo.wire.entity.registry cimport PartRegistry

cdef double _MOVE_S


cdef class ClientBatch:
    cdef public MoveLanes lanes
    cdef PartRegistry _registry
    cdef dict _wants
    cdef dict _later

    cpdef add_wants(self, ClientRow client)
    @cython.locals(client=ClientRow, wants=dict)
    cpdef send_wants(self, double now)
    @cython.locals(client=ClientRow, lane=MoveLane, waiting=list, kept=list, by_app=dict, lanes=list)
    cpdef dict take_moves(self, double now)
