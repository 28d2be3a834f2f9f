# The class of ahead.pyx, for the loops over witnesses.


cdef class Ahead:
    cpdef void serve(self, list witnesses, Py_ssize_t at) noexcept
