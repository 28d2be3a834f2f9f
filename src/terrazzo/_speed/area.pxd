# The interests of area.pyx. Other kernels use the arrays, which are those of `places`.
from terrazzo._speed.places cimport IS_NEW, IS_REAL, IS_REMOVED, IS_USED, RADIUS_LIMIT, Places, apart, room_for

cdef enum:
    IRREGULAR = 4   # the grid of those that are new or jumped; the others are by appeal
    GRIDS = 5


cdef struct Watch:
    int slot        # -1: it has ended
    int next        # another interest of the slot, or -1
    bint is_fresh
    double radius
    double hysteresis
    int* members    # ascending
    int count
    int room
    int events_from
    int events_to


cdef struct Grid:
    # Slots of one kind, cell by cell, row by row; `starts` has the first of each cell and the end.
    float* x
    float* z
    float* old_x
    float* old_z
    float* appeal
    int* slots
    int* starts
    int count
    float appeal_max


cdef class Area(Places):
    cdef Watch* watches
    cdef int watches_high, watches_room
    cdef list _interests_resting, _interests_free
    # What a step works with, kept from one to the next.
    cdef Grid grids[5]
    cdef int* cells
    cdef int* gone
    cdef int* found
    cdef int* kept
    cdef int* runs
    cdef int gone_count, grid_room, starts_room
    cdef int side_bits
    cdef double cell_inverse, step_max
    cdef int* events
    cdef int events_count, events_room

    cdef Watch* watch_of(self, int interest) except NULL
    cdef int note(self, int slot, int kind) except -1
    cdef int make_room(self) except -1
    cdef double jump_m(self, double reach) noexcept nogil
    cdef int sort_out(self, list removed) except -1
    cdef int runs_within(self, const Grid* grid, double x, double z, double reach) noexcept nogil
    cdef int candidates(self, const Grid* grid, const void* circle, double x, double z, double reach) noexcept nogil
    cdef int irregulars(self, const Grid* grid, int own, double radius, double outer) noexcept nogil
    cdef int verdict(self, const Watch* watch, int slot, double x, double z, double radius, double outer) noexcept nogil
    cdef int look(self) except -1
    cdef tuple gathered(self)
    cdef int look_wholly(self, int interest) except -1
    cdef int look_at_movers(self, int interest) except -1
    cdef int change(self, int interest, int leaves, int enters) except -1
