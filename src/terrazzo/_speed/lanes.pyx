# cython: language_level=3, boundscheck=False, wraparound=False
"""See lanes.py, whose twin this is."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport isfinite
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    COMING = 28
    GOING = 32
    PLACE = 24

cdef uint32_t C_TAG_MAX = 0xFFFF_FFFF

TAG_MAX = C_TAG_MAX
ROW_BYTES = COMING


cdef class MoveLane:
    """See lanes.py."""

    def __init__(self, int32_t entity, client=None):
        self.entity = entity
        self.client = client


cdef class MoveLanes:
    """See lanes.py."""

    def __init__(self):
        self._open = {}
        self._waiting = []
        self._last = 0

    def open(self, MoveLane lane not None):
        """Opens a lane; gives its tag."""
        self.close(lane)
        self._last = self._last % C_TAG_MAX + 1
        self._open[self._last] = lane
        lane.tag = self._last
        return self._last

    def close(self, MoveLane lane not None):
        """Closes a lane, if it is open."""
        if lane.tag:
            del self._open[lane.tag]
            lane.tag = 0

    def read(self, bytes rows not None):
        """Notes the moves; gives the entities of those that are no places."""
        cdef list bad = []
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(rows)
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t end = len(rows) - len(rows) % COMING
        cdef uint32_t tag
        cdef float place[6]
        cdef int each
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
                self._note(lane, <const uint8_t*>place)
        return bad

    def note(self, MoveLane lane not None, bytes place not None):
        """A move came past the lane: its place, as a row of the lane has it."""
        if len(place) != PLACE:
            raise ValueError(f"a place has {PLACE} bytes")
        self._note(lane, <const uint8_t*>PyBytes_AS_STRING(place))

    cdef int _note(self, MoveLane lane, const uint8_t* place) except -1:
        lane.number += 1
        memcpy(lane.place, place, PLACE)
        if not lane.waits:
            lane.waits = True
            self._waiting.append(lane)
        return 0

    cpdef list take_waiting(self):
        """The lanes with a move that was not packed, in the order of their first such moves; they are no longer kept
        here."""
        waiting, self._waiting = self._waiting, []
        return waiting

    cpdef keep(self, list lanes):
        """These lanes, of those that were taken, still wait."""
        self._waiting = lanes + self._waiting


cpdef bytes pack_rows(list lanes):
    """The rows of the latest moves of these lanes, which wait no longer."""
    cdef bytes rows = PyBytes_FromStringAndSize(NULL, GOING * len(lanes))
    cdef char* p = PyBytes_AS_STRING(rows)
    cdef uint32_t number
    cdef MoveLane lane
    for lane in lanes:
        lane.waits = False
        number = <uint32_t>(lane.number & C_TAG_MAX)
        memcpy(p, &lane.entity, 4)
        memcpy(p + 4, &number, 4)
        memcpy(p + 8, lane.place, PLACE)
        p += GOING
    return rows
