/* The limit that `terrazzo bench cell` measures beside (`limit_ratio`): what has to be done at least for the clients of a
   CellApp in a tick, as a bare pass over arrays. For each client: look at all its pairs, choose what is most urgent within
   its bytes, pack that. There are no news, nobody comes or goes, nothing is sent, and Python is not there.

   A pair is a client and an entity in its area; those of one client stand side by side. An entity is a row of `x`, `y`,
   `z`, `yaw`, `stamps`, `numbers` and `news`, by its slot. What is looked at, urgency and the bytes are those of
   `_speed/sight`, for entities on their feet whose position and yaw are told at any distance. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define URGENCIES 1024
#define PAIRS_MAX 4096 /* of one client */
#define MESSAGE_MAX 1024
#define DESCRIBED 8
#define WITHHELD 16
#define REFRESH 20

typedef struct {
    int size, count;
    uint8_t data[MESSAGE_MAX];
} Section; /* entries of one form: on the ground, or in the air */

static inline uint32_t bits_of(double value) {
    float reach = (float)(fabs(value) + 2.0);
    uint32_t bits;
    memcpy(&bits, &reach, 4);
    return bits;
}

static inline int pack12(double value) {
    int code = (int)((bits_of(value) + 0x4000) >> 15) - 0x8000;
    return (code > 0x7FF ? 0x7FF : code) | (value < 0 ? 0x800 : 0);
}

static inline int pack16(double value) {
    int code = (int)((bits_of(value) + 0x800) >> 12) - 0x40000;
    return (code > 0x7FFF ? 0x7FFF : code) | (value < 0 ? 0x8000 : 0);
}

/* The message begun goes behind `to`, and is empty again. */
static uint8_t *close_message(Section *sections, int *size, const uint8_t *head, uint8_t *to) {
    if (!*size) return to;
    memcpy(to, head, 12);
    to += 12;
    for (int form = 0; form < 2; form++) {
        Section *section = &sections[form];
        if (!section->count) continue;
        to[0] = form ? 5 : 1;
        to[1] = section->count;
        memcpy(to + 2, section->data, section->size);
        to += 2 + section->size;
        section->size = section->count = 0;
    }
    *size = 0;
    return to;
}

/* One tick: how many bytes were packed. `own` is the slot of each client, `starts` its first pair and, beyond the last
   client, the end. Of a pair: `flags`; `sent`, up to which number the client has the entity; `stamp` and `told`, what it
   was told last, and in which tick. */
long long cell_limit(int clients, const int *own, const int *starts, const int *slots, const uint16_t *aliases,
                     const int *flags, const int64_t *sent, uint32_t *stamp, int *told, const float *x, const float *y,
                     const float *z, const float *yaw, const uint32_t *stamps, const int64_t *numbers,
                     const int64_t *news, int tick, int budget, double radius, uint8_t *out) {
    static Section sections[2];
    int keys[PAIRS_MAX], counts[URGENCIES];
    long long total = 0;
    for (int client = 0; client < clients; client++) {
        int first = starts[client], count = starts[client + 1] - first, highest = 0;
        const int *slot = slots + first;
        double at_x = x[own[client]], at_y = y[own[client]], at_z = z[own[client]], scale = 9.0 / radius;
        if (count > PAIRS_MAX) count = PAIRS_MAX;
        for (int i = 0; i < count; i++) {
            int at = first + i, age = tick - told[at];
            double east = x[slot[i]] - at_x, north = z[slot[i]] - at_z;
            int is_due = (flags[at] & (DESCRIBED | WITHHELD)) == DESCRIBED && numbers[slot[i]] >= sent[at] &&
                         news[slot[i]] <= sent[at] && (stamps[slot[i]] != stamp[at] || age >= REFRESH);
            double weight = 1.0 + fmin(sqrt(east * east + north * north) * scale, 9.0);
            int urgency = (int)fmin(16.0 * age / weight, URGENCIES - 1);
            keys[i] = is_due ? urgency : -1;
            highest = keys[i] > highest ? keys[i] : highest;
        }
        memset(counts, 0, (highest + 1) * sizeof(int));
        for (int i = 0; i < count; i++)
            if (keys[i] >= 0) counts[keys[i]]++;
        int room = budget / 5, threshold = highest;
        while (threshold > 0 && room > counts[threshold]) room -= counts[threshold--];
        int reference_x = (int)floor(at_x + 0.5), reference_z = (int)floor(at_z + 0.5), size = 0;
        uint8_t head[12] = {21, tick & 255, reference_x & 255, reference_x >> 8 & 255, reference_x >> 16 & 255,
                            reference_z & 255, reference_z >> 8 & 255, reference_z >> 16 & 255};
        float height = (float)at_y;
        memcpy(head + 8, &height, 4);
        uint8_t *to = out;
        for (int i = 0; i < count; i++) {
            if (keys[i] < threshold || (keys[i] == threshold && room-- <= 0)) continue;
            int at = first + i, alias = aliases[at];
            int east = pack12(x[slot[i]] - reference_x), north = pack12(z[slot[i]] - reference_z);
            double up = y[slot[i]] - at_y, turned = yaw[slot[i]] * (128.0 / 3.141592653589793) + 0.5;
            int form = !(-1.0 / 256 < up && up < 1.0 / 256);
            uint8_t entry[9], *byte = entry;
            if (alias < 255) {
                *byte++ = alias;
            } else {
                byte[0] = 255, byte[1] = alias & 255, byte[2] = alias >> 8;
                byte += 3;
            }
            byte[0] = east & 255, byte[1] = east >> 8 | (north & 15) << 4, byte[2] = north >> 4;
            byte += 3;
            if (form) {
                int code = pack16(up);
                byte[0] = code & 255, byte[1] = code >> 8;
                byte += 2;
            }
            *byte++ = (int)(turned - floor(turned / 256.0) * 256.0) & 255;
            int wide = (int)(byte - entry);
            if (size + wide + 2 > MESSAGE_MAX) to = close_message(sections, &size, head, to);
            Section *section = &sections[form];
            size += wide + (section->count ? 0 : 2) + (size ? 0 : 12);
            memcpy(section->data + section->size, entry, wide);
            section->size += wide;
            section->count++;
            stamp[at] = stamps[slot[i]];
            told[at] = tick;
        }
        to = close_message(sections, &size, head, to);
        total += to - out;
    }
    return total;
}
