# C types for budget.py.
import cython


cdef class Budget:
    cdef public double deficit
    cdef public bint has_come
    cdef public double served_at
    cdef double _allowed
    cdef double _granted
    cdef double _advance
    cdef long _starved

    @cython.locals(waited=cython.double)
    cpdef grant(self, double now, double tick_s, double tick_bytes)
    @cython.locals(room=cython.double)
    cpdef double room(self, long long own) except? -1
    cpdef spend(self, long long sent)
