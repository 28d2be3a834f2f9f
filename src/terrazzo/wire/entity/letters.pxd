# C types for letters.py.
import cython

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.registry cimport PartRegistry


cdef class Letters:
    cdef Mailbox _box
    cdef PartRegistry _registry
    cdef Py_ssize_t _left
    cdef bint _was_full
    cdef double _now

    @cython.locals(box=Mailbox, registry=PartRegistry, channel=Channel, letter=tuple, payload=bytes)
    cpdef tuple next_one(self)
    cdef _end(self, Mailbox box)
