# C types for mail.py.


cdef class Mail:
    cdef object _core
    cdef object _switchboard
    cdef object _clients
    cdef object _scheduler
    cdef object _teleports

    cpdef take(self, object real)
    cdef _read(self, object real, object source, object message)
    cdef bint _obey(self, object real, object message) except -1
