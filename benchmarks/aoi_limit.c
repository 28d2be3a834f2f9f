/* The limit that `terrazzo bench aoi` measures our area kernel beside: the least that finds who came near whom.

   A pair is an event when it is inside the radius by its new places and not by its old ones, or the other way round. So
   nothing is stored but the places of this tick and of the last: no sets, no hysteresis, one radius for all, nobody
   comes, goes or jumps. Places are sorted into square cells of a known plane, row by row, so that the cells a circle
   reaches are one run of the arrays for each row; runs are tested four places at a time.

   Events are directed (who, whom, 1 enter or 0 leave), and written to the caller's arrays. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 4
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int Ints __attribute__((vector_size(4 * LANES)));

typedef struct {
    int count, side;
    float radius, step_max, inverse;
    float *x, *z, *old_x, *old_z; /* by entity */
    float *grid;                  /* by cell: new x, new z, old x, old z */
    int *cells, *starts, *who;
} Limit;

void limit_free(Limit *limit) {
    free(limit->x);
    free(limit->grid);
    free(limit->cells);
    free(limit->starts);
    free(limit->who);
    free(limit);
}

/* `places`: all x, then all z. */
Limit *limit_new(int count, float plane, float radius, float step_max, const float *places) {
    Limit *limit = calloc(1, sizeof *limit);
    float cell = (radius + 2 * step_max) / 2;
    limit->count = count;
    limit->radius = radius;
    limit->step_max = step_max;
    limit->inverse = 1 / cell;
    limit->side = (int)(plane / cell) + 1;
    limit->x = malloc(4 * count * sizeof(float));
    limit->z = limit->x + count;
    limit->old_x = limit->x + 2 * count;
    limit->old_z = limit->x + 3 * count;
    limit->grid = calloc(4 * (count + LANES), sizeof(float));
    limit->cells = malloc(count * sizeof(int));
    limit->starts = malloc((limit->side * limit->side + 2) * sizeof(int));
    limit->who = malloc(count * sizeof(int));
    memcpy(limit->x, places, 2 * count * sizeof(float));
    return limit;
}

static inline int cell_of(const Limit *limit, float meters) {
    int cell = meters > 0 ? (int)(meters * limit->inverse) : 0;
    return cell < limit->side ? cell : limit->side - 1;
}

static void sort_into_cells(Limit *limit) {
    int cells = limit->side * limit->side, room = limit->count + LANES, *starts = limit->starts;
    memset(starts, 0, (cells + 2) * sizeof(int));
    for (int i = 0; i < limit->count; i++) {
        limit->cells[i] = cell_of(limit, limit->z[i]) * limit->side + cell_of(limit, limit->x[i]);
        starts[limit->cells[i] + 2]++;
    }
    for (int cell = 2; cell < cells + 2; cell++) starts[cell] += starts[cell - 1];
    for (int i = 0; i < limit->count; i++) {
        int at = starts[limit->cells[i] + 1]++;
        limit->who[at] = i;
        limit->grid[at] = limit->x[i];
        limit->grid[at + room] = limit->z[i];
        limit->grid[at + 2 * room] = limit->old_x[i];
        limit->grid[at + 3 * room] = limit->old_z[i];
    }
}

/* One tick: everybody is at `places` now. How many events there were. */
int limit_step(Limit *limit, const float *places, int *who, int *whom, signed char *kinds) {
    int events = 0, side = limit->side, room = limit->count + LANES;
    float reach = limit->radius + 2 * limit->step_max, square = limit->radius * limit->radius;
    memcpy(limit->old_x, limit->x, 2 * limit->count * sizeof(float));
    memcpy(limit->x, places, 2 * limit->count * sizeof(float));
    sort_into_cells(limit);
    const float *xs = limit->grid, *zs = xs + room, *old_xs = xs + 2 * room, *old_zs = xs + 3 * room;
    for (int own = 0; own < limit->count; own++) {
        float x = xs[own], z = zs[own], old_x = old_xs[own], old_z = old_zs[own];
        int left = cell_of(limit, x - reach), right = cell_of(limit, x + reach);
        int row = cell_of(limit, z - reach), last = cell_of(limit, z + reach);
        for (; row <= last; row++) {
            int at = limit->starts[row * side + left], end = limit->starts[row * side + right + 1];
            for (; at < end; at += LANES) {
                Floats dx, dz, ex, ez;
                memcpy(&dx, xs + at, sizeof dx);
                memcpy(&dz, zs + at, sizeof dz);
                memcpy(&ex, old_xs + at, sizeof ex);
                memcpy(&ez, old_zs + at, sizeof ez);
                dx -= x, dz -= z, ex -= old_x, ez -= old_z;
                Ints is_in = dx * dx + dz * dz <= square, was_in = ex * ex + ez * ez <= square;
                Ints is_event = is_in ^ was_in;
                long long words[LANES / 2];
                memcpy(words, &is_event, sizeof words);
                if (!(words[0] | words[1])) continue;
                for (int lane = 0; lane < LANES && at + lane < end; lane++)
                    if (is_event[lane]) {
                        who[events] = limit->who[own];
                        whom[events] = limit->who[at + lane];
                        kinds[events++] = is_in[lane] != 0;
                    }
            }
        }
    }
    return events;
}
