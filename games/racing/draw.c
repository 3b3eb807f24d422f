// A race as text, for terminals, logs and tests.
//
// The picture is a grid of characters: borders as dots, the line as '|', cars as letters, a car
// that is touching something in small letters.
#include <float.h>
#include <string.h>

#include "picture/picture.h"
#include "private.h"

// A scale at which the whole course fits, with the course in the middle.
static void fit(const RacingGame *game, Picture *p)
{
    double low_x = DBL_MAX, low_y = DBL_MAX, high_x = -DBL_MAX, high_y = -DBL_MAX;
    for (int32_t i = 0; i < RACING_STATION_COUNT; i++) {
        const RacingStation *s = &game->station[i];
        low_x = s->x < low_x ? s->x : low_x;
        low_y = s->y < low_y ? s->y : low_y;
        high_x = s->x > high_x ? s->x : high_x;
        high_y = s->y > high_y ? s->y : high_y;
    }
    double margin = 2.0 * game->half_width_m;
    double wide = (high_x - low_x + margin) / p->columns * 2.0;
    double high = (high_y - low_y + margin) / p->rows;
    p->row_units = 1.01 * (wide > high ? wide : high);
    p->left = 0.5 * (low_x + high_x) - 0.25 * p->row_units * p->columns;
    p->top = 0.5 * (low_y + high_y) + 0.5 * p->row_units * p->rows;
}

static void picture_draw(const RacingGame *game, const RacingState *view, const Picture *p)
{
    memset(p->cells, ' ', (size_t)p->rows * (size_t)(p->columns + 1));
    for (int32_t row = 0; row < p->rows; row++) {
        p->cells[row * (p->columns + 1) + p->columns] = '\n';
    }
    for (int32_t i = 0; i < RACING_STATION_COUNT; i++) {
        const RacingStation *s = &game->station[i];
        double dx = game->half_width_m * s->ty, dy = game->half_width_m * s->tx;
        picture_put(p, s->x - dx, s->y + dy, '.');
        picture_put(p, s->x + dx, s->y - dy, '.');
    }
    for (int32_t i = -8; i <= 8; i++) {
        FlVec3 at = racing_position(game, (RacingPlace){0.0, i * game->half_width_m / 8.0}, NULL);
        picture_put(p, at.x, at.y, '|');
    }
    for (int32_t i = view->car_count - 1; i >= 0; i--) { // so that A is on top
        const RacingCar *car = &view->car[i];
        picture_put(p, car->x, car->y, (char)((car->touching != 0 ? 'a' : 'A') + i));
    }
}

// ---------------------------------------------------------------- standings

// Tenths as "12.3".
static char *put_tenths(char *at, double value, int32_t width)
{
    int64_t tenths = (int64_t)(number_clamp(value, 0.0, 1e9) * 10.0 + 0.5);
    at = picture_number(at, tenths / 10, width);
    *at++ = '.';
    *at++ = (char)('0' + tenths % 10);
    return at;
}

static char *standing_write(const RacingGame *game, const RacingState *view, int32_t rank,
                            const uint8_t *order, char *at)
{
    const RacingCar *car = &view->car[order[rank]];
    at = picture_number(at, rank + 1, 2);
    *at++ = ' ';
    *at++ = (char)('A' + order[rank]);
    at = picture_number(picture_text(at, "  lap"), racing_lap(game, car), 4);
    if (car->finish_ns >= 0) {
        int64_t ms = car->finish_ns / FL_MS(1);
        at = picture_number(picture_text(at, "  in"), ms / 1000, 4);
        *at++ = '.';
        for (int64_t unit = 100; unit > 0; unit /= 10) {
            *at++ = (char)('0' + ms / unit % 10);
        }
        at = picture_text(at, " s");
    } else {
        double behind = fabs(view->car[order[0]].progress - car->progress);
        at = picture_text(put_tenths(picture_text(at, "  -"), behind, 4), " m");
    }
    double speed = sqrt(car->vx * car->vx + car->vy * car->vy);
    at = picture_text(put_tenths(at, speed, 5), " m/s\n");
    return at;
}

size_t racing_draw(const RacingGame *game, const RacingState *view, int32_t columns, int32_t rows,
                   char *text, size_t capacity)
{
    FL_ASSERT(columns >= PICTURE_COLUMNS_MIN && rows >= PICTURE_ROWS_MIN && columns <= 1000 &&
              rows <= 1000);
    if (capacity > 0) {
        text[0] = '\0';
    }
    if (capacity < RACING_DRAW_BYTES(columns, rows, view->car_count)) {
        return 0;
    }
    Picture picture = {.cells = text, .columns = columns, .rows = rows};
    fit(game, &picture);
    picture_draw(game, view, &picture);
    uint8_t order[RACING_CAR_CAPACITY];
    racing_standings(view, order);
    char *at = text + (size_t)rows * (size_t)(columns + 1);
    for (int32_t rank = 0; rank < view->car_count; rank++) {
        at = standing_write(game, view, rank, order, at);
    }
    *at = '\0';
    return (size_t)(at - text);
}
