# The tables of sight.pyx, so that the code that fills them (`cell/client/sent.py`) calls them directly.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from terrazzo._speed.area cimport Area
from terrazzo._speed.tally cimport Tally
from terrazzo._speed.updates cimport UpdateRows, Words


cdef struct Entry:
    # Small: tens of thousands of them are looked at in each tick.
    int64_t sent
    int32_t entity
    int32_t slot
    int32_t flags
    int32_t sent_at
    int32_t waits_since
    uint32_t stamp
    uint16_t alias
    uint8_t is_unsent   # `stamp` means nothing
    uint8_t is_settled
    uint8_t is_beyond
    uint8_t level
    uint8_t waited
    uint8_t angles


cdef struct Reach:
    # Distances, squared; below zero: not sent.
    double position
    double[3] angles
    double[3] starts
    double[3] ends
    int levels
    int row
    bint is_detailed


cdef class Ranges:
    cdef Reach reach


cdef struct HeadlinePart:
    # A message without its alias; the body is one of those that `_told` keeps.
    double distance2
    Py_ssize_t row
    Py_ssize_t size
    const uint8_t* body
    uint8_t id
    uint8_t level
    uint8_t is_reliable


cdef struct Headline:
    int64_t before
    int64_t number
    HeadlinePart* parts
    int32_t count
    int32_t room
    int32_t entity


cdef struct Glance:
    # What a look needs of a slot, side by side: one line of the cache for each pair.
    int64_t newest
    int64_t number
    const Reach* reach
    float x
    float z
    uint32_t stamp
    uint8_t is_known


cdef class Headlines:
    cdef Glance* _glances
    cdef Py_ssize_t _glances_room
    cdef int _glanced   # so many slots of the area have a fresh row
    cdef Headline* _headlines
    cdef const Reach** _reaches
    cdef readonly Tally tally
    cdef list _told     # the bodies of each headline
    cdef set _ranges    # that `reach` points into
    cdef Py_ssize_t _room

    cdef int _make_room(self, Py_ssize_t slot) except -1
    cdef const Reach* reach(self, Py_ssize_t slot) noexcept nogil
    cdef int _make_glances(self, Area area) except -1
    cdef void _fill(self, Area area, int slot) noexcept nogil
    cpdef glance(self, Area area)
    cpdef forget(self)
    cdef const Headline* find(self, Py_ssize_t slot, int32_t entity, int64_t sent, int64_t newest) noexcept nogil


cdef struct Place:
    int32_t entity
    int32_t index       # in the entries, plus 1; 0: this place is free


cdef class Sight:
    cdef Area _area
    cdef Headlines _headlines
    cdef int32_t _slot
    cdef Entry* _entries
    cdef Py_ssize_t _count
    cdef Py_ssize_t _room
    # Entity to entry: open addressing.
    cdef Place* _places
    cdef int _bits
    cdef public list news       # of the last call of `serve`; None: there are none

    cdef Place* _place(self, int32_t entity) noexcept
    cdef Entry* _known(self, int32_t entity) noexcept
    cdef Entry* _find(self, int32_t entity) except NULL
    cdef int _grow(self) except -1
    cpdef add(self, int32_t entity, int32_t slot, uint16_t alias, int64_t sent, int32_t flags, uint8_t level=*)
    cpdef remove(self, int32_t entity)
    cpdef bind(self, int32_t entity, int32_t slot)
    cpdef tuple get(self, int32_t entity)
    cpdef int flags(self, int32_t entity) except? -2
    cpdef int slot(self, int32_t entity) except? -2
    cpdef int alias(self, int32_t entity) except -1
    cpdef int64_t sent(self, int32_t entity) except? -2
    cpdef rename(self, int32_t entity, uint16_t alias)
    cdef bint _has_body(self, const Entry* entry) noexcept
    cpdef set_sent(self, int32_t entity, int64_t sent)
    cpdef set_flags(self, int32_t entity, int32_t flags)
    cdef double _distance2(self, int slot) noexcept
    cpdef tuple levels(self, int32_t entity)
    cpdef set_level(self, int32_t entity, uint8_t level)
    cpdef int64_t serve(self, int32_t tick, double budget_bytes, double radius, Words words, UpdateRows rows) except -1
    cdef int _look(self, int32_t tick, double radius) except -1
    cdef int64_t _tell_news(self, double budget_bytes, Words words, UpdateRows rows) except -1
    cdef int _tell_places(self, int32_t tick, double budget_bytes, UpdateRows rows) except -1
