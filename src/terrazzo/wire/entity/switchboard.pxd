# C types for switchboard.py: its fields. Its methods are called as in Python, and may be overridden by the deliberately
# broken forms of `sim.mutations`.
from terrazzo.wire.entity.registry cimport PartRegistry
from terrazzo.wire.entity.resend_schedule cimport ResendSchedule
from terrazzo.wire.entity.router cimport Router


cdef class Switchboard:
    cdef dict __dict__
    cdef public object me
    cdef public Router router
    cdef public dict boxes
    cdef public dict places
    cdef public ResendSchedule schedule
    cdef public dict counts
    cdef public PartRegistry _registry
    cdef public dict _mailed
    cdef public object _host
    cdef public object _exchange
