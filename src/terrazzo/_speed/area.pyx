"""The compiled form of area.py, which documents it.

**How a step finds its events.** For a pair that existed at the last step, an event needs a crossing: inside the radius
now and not then, or inside radius + hysteresis then and not now. So the pairs near each other are tested on their old
and new places alone, four at a time, in float32 with a little slack (`scan`, in C below); only for the few that pass
is the membership looked up and the distance computed as the plain form does. What is in `members` then decides.

The others are irregular and tested one by one: slots that are new or jumped, and all pairs of interests that are new,
have another radius, or an own slot that is irregular (`look_wholly`). What a jump is depends on how the crowd moves: a
longer step of the regular ones makes every search wider, so only a few may be too fast (`jump_m`).

**The grid.** Square cells of about half a mean reach, wrapped around like a torus of 2^side_bits cells each way: a far
outlier costs nothing, and what is wrapped onto the same cell is only tested in vain. Slots are sorted into it anew in
each step (counting sort), so that the cells of one row that a circle reaches are one run in the arrays. Slots with an
appeal have grids of their own, by classes of it: one giant must not make every search wide.
"""

from cpython cimport array
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

from array import array as new_array

from terrazzo._speed.places import RADIUS_MAX, REAL, REMOVED, USED, Point, Row
from terrazzo.errors import UsageError

cdef extern from *:
    """
    /* What `scan` looks for: squares of the radius and of radius + hysteresis, each with slack for float32. */
    typedef struct {
        float x, z, old_x, old_z;             /* the interest's own place */
        float in_now, in_then, out_now, out_then;
        float radius, outer;                  /* with an appeal, the squares differ from slot to slot */
    } Circle;

    #define SLACK 2e-6f

    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address)
    #else
    #define prefetch(address) ((void)(address))
    #endif

    #if defined(__GNUC__)
    #define LANES 4
    typedef float Floats __attribute__((vector_size(4 * LANES)));
    typedef int Ints __attribute__((vector_size(4 * LANES)));
    #else
    #define LANES 1
    typedef float Floats;
    typedef int Ints;
    #endif

    static inline Floats load(const float *from) { Floats found; memcpy(&found, from, sizeof found); return found; }

    /* Which lanes are set, one bit each. */
    static inline int bits_of(Ints mask) {
    #if defined(__GNUC__) && defined(__SSE__)
        return __builtin_ia32_movmskps((Floats)mask);
    #else
        int lanes[LANES], bits = 0;
        memcpy(lanes, &mask, sizeof mask);
        for (int lane = 0; lane < LANES; lane++) bits |= (lanes[lane] & 1) << lane;
        return bits;
    #endif
    }

    /* Adds at + lane for each bit; what is beyond the end is overwritten by the next. */
    static inline int gather(int bits, int at, int end, int *found, int count) {
        for (; bits && at < end; bits >>= 1, at++) {
            found[count] = at;
            count += bits & 1;
        }
        return count;
    }

    /* The candidates among slots at..end without an appeal: puts indices into `found`, returns its new count.
       The arrays may be read up to LANES - 1 beyond the end. */
    static int scan(const float *x, const float *z, const float *old_x, const float *old_z, int at, int end,
                    const Circle *circle, int *found, int count) {
        const Circle c = *circle;
        for (; at < end; at += LANES) {
            Floats dx = load(x + at) - c.x, dz = load(z + at) - c.z;
            Floats ex = load(old_x + at) - c.old_x, ez = load(old_z + at) - c.old_z;
            Floats now = dx * dx + dz * dz, then = ex * ex + ez * ez;
            Ints mask = ((now <= c.in_now) & (then > c.in_then)) | ((now > c.out_now) & (then <= c.out_then));
            int bits = bits_of(mask);
            if (bits) count = gather(bits, at, end, found, count);
        }
        return count;
    }

    /* The same for slots with an appeal. */
    static int scan_appealing(const float *x, const float *z, const float *old_x, const float *old_z,
                              const float *appeal, int at, int end, const Circle *circle, int *found, int count) {
        const Circle c = *circle;
        for (; at < end; at += LANES) {
            Floats dx = load(x + at) - c.x, dz = load(z + at) - c.z;
            Floats ex = load(old_x + at) - c.old_x, ez = load(old_z + at) - c.old_z;
            Floats now = dx * dx + dz * dz, then = ex * ex + ez * ez;
            Floats radius = load(appeal + at) + c.radius, outer = load(appeal + at) + c.outer;
            Floats in = radius * radius, out = outer * outer;
            Ints mask = ((now <= in * (1 + SLACK)) & (then >= in * (1 - SLACK)))
                      | ((now >= out * (1 - SLACK)) & (then <= out * (1 + SLACK)));
            int bits = bits_of(mask);
            if (bits) count = gather(bits, at, end, found, count);
        }
        return count;
    }
    """
    ctypedef struct Circle:
        float x, z, old_x, old_z
        float in_now, in_then, out_now, out_then
        float radius, outer
    int LANES
    double SLACK
    void prefetch(const void* address) nogil
    int scan(const float* x, const float* z, const float* old_x, const float* old_z, int at, int end,
             const Circle* circle, int* found, int count) nogil
    int scan_appealing(const float* x, const float* z, const float* old_x, const float* old_z, const float* appeal,
                       int at, int end, const Circle* circle, int* found, int count) nogil

cdef double JUMP_M = 4.0       # at least
cdef double CELL_REACH = 0.5   # of the mean reach
cdef double FAR_CELLS = 1e9    # places farther out share the last cell
cdef float[3] CLASS_APPEAL = [0.0, 8.0, 64.0]  # the greatest appeal of each class but the last
cdef enum:
    AHEAD = 4   # the data of so many interests is fetched before their turn

cdef array.array INTS = new_array("i")
cdef array.array BYTES = new_array("b")


cdef int by_value(const void* one, const void* two) noexcept nogil:
    cdef int a = (<const int*>one)[0], b = (<const int*>two)[0]
    return (a > b) - (a < b)


cdef inline int place_of(const int* members, int count, int slot) noexcept nogil:
    """Where the slot is, or belongs, among the members."""
    cdef int at = 0, half
    while count > 1:
        half = count >> 1
        at += half if members[at + half - 1] < slot else 0
        count -= half
    return at + 1 if count == 1 and members[at] < slot else at


cdef inline bint is_member(const Watch* watch, int slot) noexcept nogil:
    cdef int at = place_of(watch.members, watch.count, slot)
    return at < watch.count and watch.members[at] == slot


cdef inline int64_t cell_at(double meters, double inverse) noexcept nogil:
    """The cell of a coordinate, rounded down, before it is wrapped."""
    cdef double at = meters * inverse
    if at > FAR_CELLS:
        at = FAR_CELLS
    if not at > -FAR_CELLS:
        at = -FAR_CELLS
    return <int64_t>(at + 1073741824.0)


cdef inline int class_of(float appeal) noexcept nogil:
    """Which grid a slot with this appeal is in."""
    return (appeal > CLASS_APPEAL[0]) + (appeal > CLASS_APPEAL[1]) + (appeal > CLASS_APPEAL[2])


cdef void put_in_order(int* slots, int count) noexcept nogil:
    cdef int i, at, slot
    if count > 16:
        qsort(slots, count, sizeof(int), by_value)
        return
    for i in range(1, count):
        slot = slots[i]
        at = i
        while at > 0 and slots[at - 1] > slot:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = slot


cdef int check_radius(double radius, double hysteresis) except -1:
    if not 0 <= radius <= RADIUS_LIMIT or not 0 <= hysteresis <= RADIUS_LIMIT:
        wanted = f"both are distances, from 0 to {RADIUS_LIMIT:.0f} m"
        raise UsageError(f"radius {radius}, hysteresis {hysteresis}: {wanted}")
    return 0


cdef class Area(Places):
    """The places and the interests of one space."""

    def __cinit__(self):
        self._interests_resting, self._interests_free = [], []

    def __dealloc__(self):
        cdef int i
        for i in range(self.watches_high):
            free(self.watches[i].members)
        for i in range(GRIDS):
            free(self.grids[i].x)
            free(self.grids[i].z)
            free(self.grids[i].old_x)
            free(self.grids[i].old_z)
            free(self.grids[i].appeal)
            free(self.grids[i].slots)
            free(self.grids[i].starts)
        free(self.watches)
        free(self.cells)
        free(self.gone)
        free(self.found)
        free(self.kept)
        free(self.runs)
        free(self.events)

    def remove(self, int slot):
        """A body ends: its own interests at once and silently, its being in those of others with the next step."""
        self.check(slot)
        while self.first_watch[slot] >= 0:
            self.unwatch(self.first_watch[slot])
        Places.remove(self, slot)

    def watch(self, int slot, double radius, double hysteresis, members=()):
        """Watch a circle around a slot; its id. `members` are taken as inside, without events."""
        cdef Watch* watch
        cdef int interest, member
        self.check(slot)
        check_radius(radius, hysteresis)
        inside = sorted(set(members) - {slot})
        for member in inside:
            self.check(member)
        if self._interests_free:
            interest = self._interests_free.pop()
        else:
            if self.watches_high == self.watches_room:
                self.watches_room = 2 * self.watches_room + 16
                self.watches = <Watch*>room_for(self.watches, self.watches_room, sizeof(Watch))
            interest = self.watches_high
            self.watches_high += 1
            memset(&self.watches[interest], 0, sizeof(Watch))
        watch = &self.watches[interest]
        watch.slot, watch.radius, watch.hysteresis, watch.is_fresh, watch.count = slot, radius, hysteresis, True, 0
        if <int>len(inside) > watch.room:
            watch.members = <int*>room_for(watch.members, len(inside), sizeof(int))
            watch.room = <int>len(inside)
        for member in inside:
            watch.members[watch.count] = member
            watch.count += 1
        watch.next, self.first_watch[slot] = self.first_watch[slot], interest
        self.is_changed = True
        return interest

    def unwatch(self, int interest):
        """Watch it no longer; no events. One that has ended already (with its slot) is left in peace."""
        if not 0 <= interest < self.watches_high:
            raise UsageError(f"{interest} is no interest of this area")
        cdef int slot = self.watches[interest].slot
        if slot < 0:
            return
        self.watches[interest].slot = -1
        self.watches[interest].count = 0
        self._interests_resting.append(interest)
        cdef int* link = &self.first_watch[slot]
        while link[0] != interest:
            link = &self.watches[link[0]].next
        link[0] = self.watches[interest].next

    def set_radius(self, int interest, double radius, double hysteresis):
        """Another circle from now on; the members stay until the next step."""
        cdef Watch* watch = self.watch_of(interest)
        check_radius(radius, hysteresis)
        watch.radius, watch.hysteresis, watch.is_fresh = radius, hysteresis, True
        self.is_changed = True

    def members(self, int interest):
        """The slots that are inside as of the last step, in order."""
        cdef Watch* watch = self.watch_of(interest)
        return [watch.members[i] for i in range(watch.count)]

    def step(self):
        """Interests, slots and kinds (0 leave, 1 enter) of what happened: by interest, leaves first, by slot."""
        cdef int i
        self._interests_free += self._interests_resting
        self._interests_resting.clear()
        removed = self.turn_over()
        self.events_count = 0
        if self.is_changed:
            self.sort_out(removed)
            self.look()
            memcpy(self.old_xs, self.xs, self.high * sizeof(float))
            memcpy(self.old_zs, self.zs, self.high * sizeof(float))
            for i in range(self.high):
                self.flags[i] &= ~IS_NEW
        self.is_changed = False
        return self.gathered()

    # Within.

    cdef Watch* watch_of(self, int interest) except NULL:
        if not 0 <= interest < self.watches_high or self.watches[interest].slot < 0:
            raise UsageError(f"{interest} is no interest of this area")
        return &self.watches[interest]

    cdef int make_room(self) except -1:
        """Room for what a step works with; LANES more than there are slots, as `scan` reads beyond an end."""
        cdef int i, room = self.room + 16
        cdef Grid* grid
        for i in range(GRIDS):
            grid = &self.grids[i]
            grid.x = <float*>room_for(grid.x, room, 4)
            grid.z = <float*>room_for(grid.z, room, 4)
            grid.old_x = <float*>room_for(grid.old_x, room, 4)
            grid.old_z = <float*>room_for(grid.old_z, room, 4)
            grid.appeal = <float*>room_for(grid.appeal, room, 4)
            grid.slots = <int*>room_for(grid.slots, room, 4)
        self.cells = <int*>room_for(self.cells, room, 4)
        self.gone = <int*>room_for(self.gone, room, 4)
        self.found = <int*>room_for(self.found, room, 4)
        self.kept = <int*>room_for(self.kept, room, 4)
        self.grid_room = self.room
        return 0

    cdef int note(self, int slot, int kind) except -1:
        if self.events_count == self.events_room:
            self.events_room = 2 * self.events_room + 1024
            self.events = <int*>room_for(self.events, self.events_room, sizeof(int))
        self.events[self.events_count] = slot << 1 | kind
        self.events_count += 1
        return 0

    cdef double jump_m(self, double reach) noexcept nogil:
        """What goes farther than this has jumped: JUMP_M, or doubled until most of the crowd is slower."""
        cdef double jump = JUMP_M
        cdef int slot, far
        while jump < reach:
            far = 0
            for slot in range(self.high):
                far += apart(self.xs[slot] - self.old_xs[slot], self.zs[slot] - self.old_zs[slot]) > jump * jump
            if far * 16 <= self.count:
                break
            jump *= 2
        return jump

    cdef int sort_out(self, list removed) except -1:
        """Set the irregular slots apart, and sort the others into the grids."""
        cdef int i, slot, cell, cells, watched = 0, kind
        cdef int64_t mask
        cdef double moved, jump, step_max = 0, reach = 0
        cdef Grid* grid
        if self.grid_room < self.room:
            self.make_room()
        for i in range(self.watches_high):
            if self.watches[i].slot >= 0:
                watched += 1
                reach += self.watches[i].radius + self.watches[i].hysteresis
        reach = max(reach / watched, 0.02) if watched else 1.0
        jump = self.jump_m(reach)
        self.cell_inverse = 1 / (CELL_REACH * reach)
        self.side_bits = 2
        while self.side_bits < 10 and (<int64_t>1 << 2 * self.side_bits) < self.count:
            self.side_bits += 1
        mask = (<int64_t>1 << self.side_bits) - 1
        cells = 1 << 2 * self.side_bits
        if self.starts_room < cells + 2:
            for i in range(GRIDS):
                self.grids[i].starts = <int*>room_for(self.grids[i].starts, cells + 2, sizeof(int))
            self.runs = <int*>room_for(self.runs, 4 << self.side_bits, sizeof(int))
            self.starts_room = cells + 2
        for i in range(GRIDS):
            grid = &self.grids[i]
            grid.count, grid.appeal_max = 0, 0
            memset(grid.starts, 0, (cells + 2) * sizeof(int))
        for slot in range(self.high):
            # A cell is kept with its grid in the low bits; -1: the slot is free.
            self.cells[slot] = -1
            if not self.flags[slot] & IS_USED:
                continue
            moved = apart(self.xs[slot] - self.old_xs[slot], self.zs[slot] - self.old_zs[slot])
            if self.flags[slot] & IS_NEW or moved > jump * jump:
                kind = IRREGULAR
            else:
                kind = class_of(self.appeals[slot])
                step_max = max(step_max, moved)
            cell = <int>((cell_at(self.zs[slot], self.cell_inverse) & mask) << self.side_bits
                         | (cell_at(self.xs[slot], self.cell_inverse) & mask))
            grid = &self.grids[kind]
            self.cells[slot] = cell << 3 | kind
            grid.starts[cell + 2] += 1
            grid.count += 1
            grid.appeal_max = max(grid.appeal_max, self.appeals[slot])
        self.step_max = sqrt(step_max)
        for i in range(GRIDS):
            grid = &self.grids[i]
            if grid.count:
                for cell in range(2, cells + 2):
                    grid.starts[cell] += grid.starts[cell - 1]
        for slot in range(self.high):
            if self.cells[slot] < 0:
                continue
            grid = &self.grids[self.cells[slot] & 7]
            cell = self.cells[slot] >> 3
            i = grid.starts[cell + 1]
            grid.starts[cell + 1] += 1
            grid.x[i], grid.z[i] = self.xs[slot], self.zs[slot]
            grid.old_x[i], grid.old_z[i] = self.old_xs[slot], self.old_zs[slot]
            grid.appeal[i] = self.appeals[slot]
            grid.slots[i] = slot
        self.gone_count = <int>len(removed)
        for i in range(self.gone_count):
            self.gone[i] = removed[i]
        return 0

    cdef int runs_within(self, const Grid* grid, double x, double z, double reach) noexcept nogil:
        """The parts of a grid that a circle touches, as starts and ends in `runs`; how many parts."""
        cdef double far = reach * (1 + 1e-6) + 1e-30
        cdef int64_t side = <int64_t>1 << self.side_bits, mask = side - 1
        cdef int64_t left = cell_at(x - far, self.cell_inverse), right = cell_at(x + far, self.cell_inverse)
        cdef int64_t row = cell_at(z - far, self.cell_inverse), last = cell_at(z + far, self.cell_inverse)
        cdef int count = 0, base
        if right - left >= side:
            left, right = 0, mask
        if last - row >= side:
            row, last = 0, mask
        left, right = left & mask, right & mask
        while row <= last:
            base = <int>((row & mask) << self.side_bits)
            if left <= right:
                self.runs[2 * count], self.runs[2 * count + 1] = grid.starts[base + left], grid.starts[base + right + 1]
                count += 1
            else:
                self.runs[2 * count], self.runs[2 * count + 1] = grid.starts[base], grid.starts[base + right + 1]
                self.runs[2 * count + 2], self.runs[2 * count + 3] = grid.starts[base + left], grid.starts[base + side]
                count += 2
            row += 1
        return count

    cdef int look(self) except -1:
        """Look at each interest, in the order of the grids: neighbours look at the same parts of them."""
        cdef int which, at, ahead, interest
        cdef Grid* grid
        cdef Watch* watch
        for which in range(GRIDS):
            grid = &self.grids[which]
            for at in range(grid.count):
                if at + AHEAD < grid.count:
                    ahead = self.first_watch[grid.slots[at + AHEAD]]
                    if ahead >= 0:
                        prefetch(&self.watches[ahead])
                interest = self.first_watch[grid.slots[at]]
                while interest >= 0:
                    watch = &self.watches[interest]
                    prefetch(watch.members)
                    watch.events_from = self.events_count
                    if watch.is_fresh or which == IRREGULAR:
                        self.look_wholly(interest)
                    else:
                        self.look_at_movers(interest)
                    watch.events_to = self.events_count
                    interest = watch.next
        return 0

    cdef tuple gathered(self):
        """The events, by interest."""
        cdef int interest, i, at = 0
        cdef array.array interests = array.clone(INTS, self.events_count, False)
        cdef array.array slots = array.clone(INTS, self.events_count, False)
        cdef array.array kinds = array.clone(BYTES, self.events_count, False)
        if self.events_count:
            for interest in range(self.watches_high):
                if self.watches[interest].slot < 0:
                    continue
                for i in range(self.watches[interest].events_from, self.watches[interest].events_to):
                    interests.data.as_ints[at] = interest
                    slots.data.as_ints[at] = self.events[i] >> 1
                    kinds.data.as_schars[at] = self.events[i] & 1
                    at += 1
        return interests, slots, kinds

    cdef int look_at_movers(self, int interest) except -1:
        """A regular interest: slots that crossed its circles, or are irregular, or removed."""
        cdef Watch* watch = &self.watches[interest]
        cdef int own = watch.slot, i, j, count, slot, kind, leaves = 0, enters = 0
        cdef double x = self.xs[own], z = self.zs[own], radius = watch.radius, outer = radius + watch.hysteresis
        cdef double square = radius * radius, outer_square = outer * outer
        cdef Circle circle
        cdef Grid* grid
        circle.x, circle.z, circle.old_x, circle.old_z = self.xs[own], self.zs[own], self.old_xs[own], self.old_zs[own]
        circle.in_now, circle.in_then = square * (1 + SLACK) + 1e-30, square * (1 - SLACK) - 1e-30
        circle.out_now, circle.out_then = outer_square * (1 - SLACK) - 1e-30, outer_square * (1 + SLACK) + 1e-30
        circle.radius, circle.outer = radius, outer
        for i in range(GRIDS):
            grid = &self.grids[i]
            if not grid.count:
                continue
            if i < IRREGULAR:
                count = self.candidates(grid, &circle, x, z, outer + grid.appeal_max + 2 * self.step_max)
            else:
                count = self.irregulars(grid, own, radius, outer)
            for j in range(count):
                slot = self.found[j]
                kind = self.verdict(watch, slot, x, z, radius, outer)
                if kind == 0:
                    self.kept[leaves] = slot
                    leaves += 1
                elif kind == 1:
                    enters += 1
                    self.kept[self.room - enters] = slot
        for i in range(self.gone_count):
            if is_member(watch, self.gone[i]):
                self.kept[leaves] = self.gone[i]
                leaves += 1
        if leaves or enters:
            self.change(interest, leaves, enters)
        return 0

    cdef int irregulars(self, const Grid* grid, int own, double radius, double outer) noexcept nogil:
        """The irregular slots that are inside now or were in reach at the last step, in `found`; how many."""
        cdef int i, count = 0
        cdef double now, then, inner, reach
        for i in range(grid.count):
            now = apart(grid.x[i] - <double>self.xs[own], grid.z[i] - <double>self.zs[own])
            then = apart(grid.old_x[i] - <double>self.old_xs[own], grid.old_z[i] - <double>self.old_zs[own])
            inner, reach = radius + grid.appeal[i], outer + grid.appeal[i]
            self.found[count] = grid.slots[i]
            count += now <= inner * inner or then <= reach * reach
        return count

    cdef int candidates(self, const Grid* grid, const void* circle, double x, double z, double reach) noexcept nogil:
        """The slots of a grid that may have crossed, in `found`; how many."""
        cdef int i, runs, count = 0
        if not grid.count:
            return 0
        runs = self.runs_within(grid, x, z, reach)
        if grid.appeal_max > 0:
            for i in range(runs):
                count = scan_appealing(grid.x, grid.z, grid.old_x, grid.old_z, grid.appeal, self.runs[2 * i],
                                       self.runs[2 * i + 1], <const Circle*>circle, self.found, count)
        else:
            for i in range(runs):
                count = scan(grid.x, grid.z, grid.old_x, grid.old_z, self.runs[2 * i], self.runs[2 * i + 1],
                             <const Circle*>circle, self.found, count)
        for i in range(count):
            self.found[i] = grid.slots[self.found[i]]
        return count

    cdef int verdict(
        self, const Watch* watch, int slot, double x, double z, double radius, double outer
    ) noexcept nogil:
        """What becomes of a slot: 0 leaves, 1 enters, 2 nothing new."""
        cdef double now = apart(self.xs[slot] - x, self.zs[slot] - z)
        radius += self.appeals[slot]
        outer += self.appeals[slot]
        if now <= radius * radius:
            return 2 if is_member(watch, slot) or slot == watch.slot else 1
        return 0 if now > outer * outer and is_member(watch, slot) else 2

    cdef int look_wholly(self, int interest) except -1:
        """An interest that is irregular: all slots in reach, and all that were inside."""
        cdef Watch* watch = &self.watches[interest]
        cdef int own = watch.slot, which, i, run, slot, leaves = 0, enters = 0
        cdef double x = self.xs[own], z = self.zs[own], radius = watch.radius, outer = radius + watch.hysteresis
        cdef Grid* grid
        watch.is_fresh = False
        for i in range(watch.count):
            slot = watch.members[i]
            if self.flags[slot] & IS_REMOVED or self.verdict(watch, slot, x, z, radius, outer) == 0:
                self.kept[leaves] = slot
                leaves += 1
        for which in range(GRIDS):
            grid = &self.grids[which]
            if not grid.count:
                continue
            for run in range(self.runs_within(grid, x, z, radius + grid.appeal_max)):
                for i in range(self.runs[2 * run], self.runs[2 * run + 1]):
                    if self.verdict(watch, grid.slots[i], x, z, radius, outer) == 1:
                        enters += 1
                        self.kept[self.room - enters] = grid.slots[i]
        if leaves or enters:
            self.change(interest, leaves, enters)
        return 0

    cdef int change(self, int interest, int leaves, int enters) except -1:
        """Note the events and change the members: `kept` has leaves from its start on, enters from its end."""
        cdef Watch* watch = &self.watches[interest]
        cdef int* gone = self.kept
        cdef int* come = self.kept + self.room - enters
        cdef int i, at, to
        put_in_order(gone, leaves)
        put_in_order(come, enters)
        if watch.count + enters > watch.room:
            watch.room = 2 * (watch.count + enters)
            watch.members = <int*>room_for(watch.members, watch.room, sizeof(int))
        for i in range(leaves):
            self.note(gone[i], 0)
        for i in range(enters):
            self.note(come[i], 1)
        if leaves:
            # Close the gaps.
            at = to = place_of(watch.members, watch.count, gone[0])
            for i in range(leaves):
                at += 1
                while at < watch.count and (i + 1 == leaves or watch.members[at] != gone[i + 1]):
                    watch.members[to] = watch.members[at]
                    to += 1
                    at += 1
            watch.count = to
        # Merge from the end.
        at = watch.count - 1
        watch.count += enters
        to = watch.count - 1
        for i in range(enters - 1, -1, -1):
            while at >= 0 and watch.members[at] > come[i]:
                watch.members[to] = watch.members[at]
                to -= 1
                at -= 1
            watch.members[to] = come[i]
            to -= 1
        return 0
