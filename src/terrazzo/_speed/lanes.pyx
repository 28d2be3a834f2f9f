# cython: language_level=3, boundscheck=False, wraparound=False
"""The compiled form of lanes.py, which documents it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport isfinite
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    COMING = 28
    GOING = 32
    PLACE = 24

TAG_MAX = 0xFFFF_FFFF
ROW_BYTES = COMING


cdef class MoveLane:
    """How many moves the clients of one proxy have made; the number never goes back."""

    cdef public int32_t entity
    cdef public object number
    cdef public uint32_t tag

    def __init__(self, int32_t entity):
        self.entity = entity
        self.number = 0
        self.tag = 0


cdef class MoveLanes:
    """The open lanes of one app."""

    cdef dict _open
    cdef uint32_t _last

    def __init__(self):
        self._open = {}
        self._last = 0

    def open(self, MoveLane lane not None):
        """Opens a lane; gives its tag."""
        self.close(lane)
        self._last = self._last % <uint32_t>0xFFFF_FFFF + 1
        self._open[self._last] = lane
        lane.tag = self._last
        return self._last

    def close(self, MoveLane lane not None):
        """Closes a lane, if it is open."""
        if lane.tag:
            del self._open[lane.tag]
            lane.tag = 0

    def read(self, bytes rows not None):
        """The entity and the row of each move that goes on, and the entities of those that are no places."""
        cdef list moves = []
        cdef list bad = []
        cdef const char* data = PyBytes_AS_STRING(rows)
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t end = len(rows) - len(rows) % COMING
        cdef uint32_t tag, number
        cdef float place[6]
        cdef int each
        cdef char* out
        cdef bytes row
        cdef object found
        cdef MoveLane lane
        while at < end:
            memcpy(&tag, data + at, 4)
            memcpy(place, data + at + 4, PLACE)
            at += COMING
            found = self._open.get(tag)
            if found is None:
                continue
            lane = <MoveLane>found
            for each in range(6):
                if not isfinite(place[each]):
                    bad.append(lane.entity)
                    break
            else:
                lane.number = lane.number + 1
                number = lane.number & 0xFFFF_FFFF
                row = PyBytes_FromStringAndSize(NULL, GOING)
                out = PyBytes_AS_STRING(row)
                memcpy(out, &lane.entity, 4)
                memcpy(out + 4, &number, 4)
                memcpy(out + 8, place, PLACE)
                moves.append((lane.entity, row))
        return moves, bad
