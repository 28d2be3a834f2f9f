# The arrays of places.pyx, for the kernels that work on them (`area`, `sight`, `movers`). Slots are checked by the code
# that reads here: 0 <= slot < high, and `flags` has what is there. Pointers move when a slot is added: read them anew.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc

cdef enum:
    IS_USED = 1
    IS_REAL = 2
    IS_REMOVED = 4
    IS_NEW = 8      # added since the last step
    IS_EVENTFUL = 16

cdef enum:
    RADIUS_LIMIT = 1000000000


cdef class Places:
    cdef int high, room
    cdef float* xs
    cdef float* ys
    cdef float* zs
    cdef float* yaws
    cdef float* pitches
    cdef float* rolls
    cdef float* appeals
    cdef float* old_xs
    cdef float* old_zs
    cdef int* entities
    cdef int* owners
    cdef int64_t* numbers
    cdef int64_t* epochs
    cdef int64_t* newest
    cdef uint32_t* stamps
    cdef uint32_t* closed
    cdef uint64_t* receivers
    cdef uint8_t* flags
    # Entity to slot: open addressing, slot + 1, 0 is free.
    cdef int* table
    cdef int table_bits, count
    cdef list _removed, _resting, _free
    cdef int* first_watch       # of `area`: the newest interest of each slot, or -1
    cdef bint is_changed        # since the last step

    cpdef int find(self, int entity) except? -2
    cpdef int put_at(self, int slot, float x, float y, float z, float yaw, float pitch, float roll) except -1
    cpdef double distance(self, int slot, double x, double y, double z) except? -1
    cpdef int64_t number(self, int slot) except? -2
    cpdef int64_t news(self, int slot) except? -2
    cdef int slot_of(self, int entity) noexcept nogil
    cdef void move(self, int slot, const float* place) noexcept nogil
    cdef int check(self, int slot) except -1
    cdef int check_known(self, int slot) except -1
    cdef int grow(self) except -1
    cdef int table_put(self, int slot) except -1
    cdef void table_drop(self, int entity) noexcept nogil
    cdef list turn_over(self)


cdef inline double apart(double dx, double dz) noexcept nogil:
    """The square of a distance."""
    return dx * dx + dz * dz


cdef inline void* room_for(void* old, size_t count, size_t size) except NULL:
    cdef void* new = realloc(old, count * size + 64)
    if new == NULL:
        raise MemoryError
    return new
