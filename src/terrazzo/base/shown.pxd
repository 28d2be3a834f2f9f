# C types for shown.py.
import cython

from terrazzo.sync.turns cimport LooseSent, Turns


cdef int _SHORT_MAX, _ANNOUNCE, _LEAVE, _SPACE, _CELL_PLAYER, _CELL_LOST, _RIDES
cdef bytes _IS_NOTED


cdef class Shown:
    cdef public bint has_body
    cdef public Turns turns
    cdef LooseSent _loose
    cdef public dict _held
    cdef public dict _types
    cdef set _unwanted
    cdef set _resting
    cdef dict _owed
    cdef dict _wants
    cdef list _released

    cpdef bint has_to_wait(self, bytes message) except -1
    cpdef bytes mark(self, bytes message)
    @cython.locals(kind=cython.int, alias=cython.int)
    cpdef bytes note(self, bytes message)
    @cython.locals(at=cython.int, alias=cython.int, entity=cython.longlong, rest=bytes)
    cdef _note_announce(self, bytes message)
    cdef _note_rare(self, int kind, bytes body)
    cdef _rest(self, int alias)
    cpdef end(self)
    cpdef object type_of(self, int entity)
    cpdef bint want(self, int entity, object number) except -1
    cpdef bint release(self, int alias) except -1
    cpdef tuple take(self)
