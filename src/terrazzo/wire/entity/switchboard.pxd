# C types for switchboard.py: those of its lower half. Its own methods are called as in Python, and may be overridden by
# the deliberately broken forms of `sim.mutations`.
from terrazzo.wire.entity.router cimport Router


cdef class Switchboard(Router):
    pass
