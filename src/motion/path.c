// Paths: motions one after another, in a ring that the caller provides.
//
// Invariant: pieces are in strictly rising order of `from`. A path says nothing before its first
// piece, and nothing where the piece's life is FL_LIFE_NONE.
#include "private.h"

void fl__piece_place(FlPiece *piece, const FlMotion *update, uint32_t life, FlTime arrival)
{
    // An arrival before the stamp can only be a clock's error; the update says nothing about
    // earlier times.
    piece->from = fl__time_max(arrival, update->time);
    piece->life = life;
    piece->motion = *update;
    fl__foresee(&piece->motion, fl_span(piece->from, update->time));
}

FlPiece fl_piece_placed(const FlMotion *update, uint32_t life, FlTime arrival)
{
    FlPiece piece;
    fl__piece_place(&piece, update, life, arrival);
    return piece;
}

void fl_path_init(FlPath *path, FlPiece *storage, int32_t capacity)
{
    FL_ASSERT(storage != NULL && capacity > 0);
    FlPath fresh = {.pieces = storage, .capacity = capacity};
    *path = fresh;
}

static FlPiece *piece_number(const FlPath *path, int32_t i)
{
    int32_t slot = path->first + i;
    return &path->pieces[slot < path->capacity ? slot : slot - path->capacity];
}

static void drop_first(FlPath *path)
{
    path->first = path->first + 1 < path->capacity ? path->first + 1 : 0;
    path->count--;
}

FlPiece *fl__path_extend(FlPath *path)
{
    if (path->count == path->capacity) {
        drop_first(path);
    }
    path->count++;
    return piece_number(path, path->count - 1);
}

FlResult fl_path_add(FlPath *path, const FlPiece *piece)
{
    if (piece->life != FL_LIFE_NONE && !fl__motion_finite(&piece->motion)) {
        return FL_BAD_VALUE;
    }
    if (path->count > 0) {
        FlPiece *last = piece_number(path, path->count - 1);
        if (piece->from < last->from) {
            return FL_OUT_OF_ORDER;
        }
        if (piece->from == last->from) {
            *last = *piece;
            return FL_OK;
        }
    }
    *fl__path_extend(path) = *piece;
    return FL_OK;
}

FlResult fl__path_end(FlPath *path, FlTime time)
{
    FlPiece end = {.from = time, .life = FL_LIFE_NONE};
    return fl_path_add(path, &end);
}

void fl__path_trim(FlPath *path, FlTime time)
{
    while (path->count > 1 && piece_number(path, 1)->from <= time) {
        drop_first(path);
    }
}

// How many pieces start at or before `time`.
static int32_t started_by(const FlPath *path, FlTime time)
{
    int32_t low = 0;
    int32_t high = path->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (piece_number(path, middle)->from <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const FlPiece *fl_path_at(const FlPath *path, FlTime time)
{
    int32_t started = started_by(path, time);
    if (started == 0) {
        return NULL;
    }
    const FlPiece *piece = piece_number(path, started - 1);
    return piece->life == FL_LIFE_NONE ? NULL : piece;
}

// Walks a path: the piece that holds now (none before the first), and when the next one starts.
typedef struct Walker {
    const FlPath *path;
    int32_t next;
} Walker;

static const FlPiece *walker_piece(const Walker *w)
{
    return w->next > 0 ? piece_number(w->path, w->next - 1) : NULL;
}

static FlTime walker_until(const Walker *w, FlTime limit)
{
    if (w->next == w->path->count) {
        return limit;
    }
    FlTime from = piece_number(w->path, w->next)->from;
    return fl_time_min(from, limit);
}

static void walker_advance(Walker *w, FlTime time)
{
    if (w->next < w->path->count && piece_number(w->path, w->next)->from <= time) {
        w->next++;
    }
}

double fl_path_distance_integral(const FlPath *a, const FlPath *b, FlTime from, FlTime to)
{
    Walker wa = {a, started_by(a, from)};
    Walker wb = {b, started_by(b, from)};
    double sum = 0.0;
    while (from < to) {
        FlTime until = walker_until(&wb, walker_until(&wa, to));
        const FlPiece *pa = walker_piece(&wa);
        const FlPiece *pb = walker_piece(&wb);
        if (pa != NULL && pb != NULL && pa->life == pb->life && pa->life != FL_LIFE_NONE) {
            sum += fl__distance_integral(&pa->motion, &pb->motion, from, until);
        }
        walker_advance(&wa, until);
        walker_advance(&wb, until);
        from = until;
    }
    return sum;
}
