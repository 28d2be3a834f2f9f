# The class of ahead.pyx, for the modules of the entity channel.


cdef class Ahead:
    cpdef void speak(self, list channels, Py_ssize_t at) noexcept
    cpdef void take(self, list boxes, Py_ssize_t at) noexcept
