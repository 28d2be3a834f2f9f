# C types for interests.py. What is not named here is called as in Python, and may be replaced in an object.


cdef class Proximity:
    cdef public object number
    cdef public double radius
    cdef public long interest
    cdef object _interests
    cdef object _real
    cdef public dict _missing


cdef class Interests:
    cdef dict __dict__
    cdef object _core
    cdef public object seeking
    cdef public dict _watchers
    cdef public dict _unjudged
    cdef list _hooks

    cdef _judge(self)
    cdef _run_hooks(self)
    cpdef judge_later(self, object watcher)
