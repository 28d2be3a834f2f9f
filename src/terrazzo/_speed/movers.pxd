# C types for movers.py.
import cython
from libc.stdint cimport uint32_t

from terrazzo._speed.area cimport Area

cdef int _OUT_OF_BOUNDS, _TOO_FAST, _ASK, _ACCEPTED, _PASSED_OVER
cdef double _ALLOWANCE_S, _NEAR_M, _AGAIN_S, _PLACE_MAX
cdef Py_ssize_t _ROW_BYTES, _NUMBERS


@cython.final
cdef class Mover:
    cdef uint32_t number
    cdef double allowance_s, at, corrected_at
    cdef bint has_veto, is_corrected

    cdef int grow(self, double now) except -1
    @cython.locals(may_be_late=bint)
    cdef int judge(self, bint is_within, double distance, double now, double top_speed) except? -2


@cython.final
cdef class Movers:
    cdef Area _area
    cdef list _movers

    cdef Mover _find(self, Py_ssize_t slot)
    cdef Mover _get(self, Py_ssize_t slot)
    @cython.locals(
        area=Area, mover=Mover, seen=list, rest=list, at=cython.Py_ssize_t, slot=cython.int, kind=cython.int,
        number=uint32_t, entities=cython.int[::1], counts=cython.uint[::1], places=cython.float[::1], is_within=bint,
        x0=cython.double, z0=cython.double, x1=cython.double, z1=cython.double, x=cython.double, y=cython.double,
        z=cython.double, yaw=cython.double, pitch=cython.double, roll=cython.double,
    )
    cpdef take(self, bytes rows, double now, double top_speed, bounds)


cdef _numbers(bytes rows, str code)
@cython.locals(most=cython.double)
cdef bint _is_place(double x, double y, double z, double yaw, double pitch, double roll) noexcept
