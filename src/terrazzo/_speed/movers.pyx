"""The compiled form of movers.py, which documents it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from collections import namedtuple
from struct import Struct

from terrazzo._speed.area cimport Area

from terrazzo._speed.places import PLACE_MAX
from terrazzo.errors import DecodeError

OUT_OF_BOUNDS = 1
TOO_FAST = 2
ASK = 3
ALLOWANCE_S = 1.0
NEAR_M = 2.0
AGAIN_S = 3.0
ROW = Struct("<iI6f")
Row = namedtuple("Row", "entity number position direction")

cdef enum:
    C_OUT_OF_BOUNDS = 1
    C_TOO_FAST = 2
    C_ASK = 3
    ROW_BYTES = 32

cdef double C_ALLOWANCE_S = 1.0
cdef double C_NEAR_M = 2.0
cdef double C_AGAIN_S = 3.0
cdef double C_PLACE_MAX = PLACE_MAX


def pack_row(row):
    """As it travels."""
    return ROW.pack(row.entity, row.number, *row.position, *row.direction)


cdef struct Mover:
    bint is_here
    bint has_veto
    bint is_corrected
    uint32_t number
    double allowance_s
    double at
    double corrected_at


cdef struct Packed:
    int32_t entity
    uint32_t number
    float place[6]


cdef inline uint32_t _read32(const unsigned char* p) noexcept nogil:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef inline Packed _read(const unsigned char* row) noexcept nogil:
    cdef Packed packed
    cdef uint32_t bits
    cdef int i
    packed.entity = <int32_t>_read32(row)
    packed.number = _read32(row + 4)
    for i in range(6):
        bits = _read32(row + 8 + 4 * i)
        memcpy(&packed.place[i], &bits, 4)
    return packed


cdef inline void _grow(Mover* mover, double now) noexcept nogil:
    mover.allowance_s = min(mover.allowance_s + (now - mover.at), C_ALLOWANCE_S)
    mover.at = now


cdef class Movers:
    """The reals with a client in one area, by slot."""

    cdef Area _area
    cdef Mover* _movers
    cdef Py_ssize_t _room

    def __cinit__(self, Area area):
        self._area = area

    def __dealloc__(self):
        free(self._movers)

    cdef Mover* _find(self, Py_ssize_t slot) except NULL:
        if not 0 <= slot < self._room or not self._movers[slot].is_here:
            raise KeyError(slot)
        return &self._movers[slot]

    def enter(self, int slot, uint32_t number, double allowance_s, double corrected_s, double now, bint has_veto):
        """A real with a client is here. `corrected_s`: seconds since it was put back, if no place near that has come
        since; else -1."""
        self._area.check_known(slot)
        cdef Py_ssize_t room = max(2 * self._room, slot + 64)
        cdef Mover* mover
        if slot >= self._room:
            grown = realloc(self._movers, room * sizeof(Mover))
            if grown == NULL:
                raise MemoryError
            self._movers = <Mover*>grown
            memset(self._movers + self._room, 0, (room - self._room) * sizeof(Mover))
            self._room = room
        mover = &self._movers[slot]
        mover.is_here = True
        mover.has_veto = has_veto
        mover.number = number
        mover.allowance_s = allowance_s
        mover.at = now
        mover.is_corrected = corrected_s >= 0
        mover.corrected_at = now - corrected_s

    def leave(self, Py_ssize_t slot):
        """It is gone, or has no client any more."""
        if 0 <= slot < self._room:
            self._movers[slot].is_here = False

    def has(self, Py_ssize_t slot):
        """Whether it has a mover here."""
        return 0 <= slot < self._room and self._movers[slot].is_here != 0

    def pack(self, Py_ssize_t slot, double now):
        """Number, allowance_s and corrected_s, as `enter` takes them."""
        cdef Mover* mover = self._find(slot)
        _grow(mover, now)
        return mover.number, mover.allowance_s, now - mover.corrected_at if mover.is_corrected else -1.0

    def correct(self, Py_ssize_t slot, double now):
        """The client was put back."""
        cdef Mover* mover = self._find(slot)
        mover.is_corrected = True
        mover.corrected_at = now

    def is_corrected(self, Py_ssize_t slot):
        """Whether the client was put back, and no place near that has come since."""
        return self._find(slot).is_corrected != 0

    def take(self, bytes rows, double now, double top_speed, bounds):
        """Accepts what is possible; the rows that need the caller, with the reason, and the rows of others."""
        cdef Py_ssize_t size = PyBytes_GET_SIZE(rows), at
        cdef const unsigned char* data = <const unsigned char*>PyBytes_AS_STRING(rows)
        cdef double[4] edges
        cdef Packed row
        cdef Mover* mover
        cdef int slot, kind
        if size % ROW_BYTES:
            raise DecodeError(f"rows of moves have {ROW_BYTES} bytes each", size)
        edges[0], edges[1], edges[2], edges[3] = bounds
        cdef list seen = [], rest = []
        for at in range(0, size, ROW_BYTES):
            row = _read(data + at)
            slot = self._area.slot_of(row.entity)
            if slot < 0 or slot >= self._room or not self._movers[slot].is_here:
                rest.append(PyBytes_FromStringAndSize(<char*>data + at, ROW_BYTES))
                continue
            mover = &self._movers[slot]
            if row.number < mover.number:
                continue
            mover.number = row.number
            kind = self._judge(mover, slot, row.place, now, top_speed, edges)
            if kind == 0:
                self._area.move(slot, row.place)
            elif kind > 0:
                position = (row.place[0], row.place[1], row.place[2])
                direction = (row.place[3], row.place[4], row.place[5])
                seen.append((kind, Row(row.entity, row.number, position, direction)))
        return seen, b"".join(rest)

    cdef int _judge(
        self, Mover* mover, int slot, const float* place, double now, double top_speed, const double* edges
    ) noexcept:
        """0: accepted, -1: passed over, else the reason for the caller."""
        cdef bint is_fine = edges[0] <= place[0] <= edges[2] and edges[1] <= place[2] <= edges[3]
        cdef int i
        for i in range(6):
            is_fine = is_fine and -C_PLACE_MAX <= place[i] <= C_PLACE_MAX
        cdef bint may_be_late = mover.is_corrected and now < mover.corrected_at + C_AGAIN_S
        if not is_fine:
            return -1 if may_be_late else C_OUT_OF_BOUNDS
        cdef double east = <double>place[0] - self._area.xs[slot]
        cdef double up = <double>place[1] - self._area.ys[slot]
        cdef double north = <double>place[2] - self._area.zs[slot]
        cdef double distance = sqrt(east * east + up * up + north * north)
        if mover.is_corrected:
            if distance > C_NEAR_M + top_speed * (now - mover.corrected_at) / 2:
                return -1 if may_be_late else C_TOO_FAST
            mover.is_corrected = False
        _grow(mover, now)
        if distance > mover.allowance_s * top_speed:
            return C_TOO_FAST
        if top_speed > 0:
            mover.allowance_s -= distance / top_speed
        return C_ASK if mover.has_veto else 0
