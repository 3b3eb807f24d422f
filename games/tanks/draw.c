// The terminal view: a picture made of letters, as a function of what is seen.
//
// A grid of cells is painted layer by layer (ground, buildings, shots, others, own), then written
// out with a colour change only where the colour changes. Each cell covers a rectangle of the
// arena; anything in it, however small, is painted, or a whole arena in 80 columns would show no
// tank.
//
// The text is written straight into the caller's buffer: cells first, as plain characters at its
// end, so that no memory is needed, then expanded to the front. tanks_draw_bytes leaves room for a
// colour change at every cell, so the front never overtakes the cells it has yet to read.
#include "private.h"

#include <string.h>

#define COLOUR_BYTES 5 // "\x1b[31m"
#define RESET_BYTES 4  // "\x1b[0m", at each line's end
#define GROUND ' '
#define OUTSIDE '.'
#define BUILDING '#'
#define SHOT '*'

// Cells hold what is drawn in the low seven bits; this one marks the own tank.
#define OWN 0x80u

typedef struct Canvas {
    const TanksDrawDef *def;
    uint8_t *cells; ///< (rows - 1) * columns, from the top left.
    double left, top;
    double cell_width, cell_height;
} Canvas;

TanksDrawDef tanks_draw_def_default(void)
{
    TanksDrawDef def = {.columns = 80, .rows = 24, .span = 0.0, .colours = true};
    return def;
}

static void check_def(const TanksDrawDef *def)
{
    FL_ASSERT(def->columns >= 20 && def->columns <= 400);
    FL_ASSERT(def->rows >= 4 && def->rows <= 200);
    FL_ASSERT(def->span >= 0.0 && def->span <= 1e6);
}

size_t tanks_draw_bytes(const TanksDrawDef *def)
{
    check_def(def);
    size_t columns = (size_t)def->columns;
    size_t rows = (size_t)def->rows;
    size_t line = def->colours ? columns * (1 + COLOUR_BYTES) + RESET_BYTES + 1 : columns + 1;
    return rows * line + (rows - 1) * columns + 1; // text, cells, zero
}

// ---------------------------------------------------------------- painting

static Canvas canvas_make(const TanksView *view, const TanksDrawDef *def, char *text, size_t size)
{
    size_t cell_count = (size_t)(def->rows - 1) * (size_t)def->columns;
    bool around = def->span > 0.0 && view->own != NULL;
    double span = around ? def->span : 2.0 * view->world->rules.half_extent;
    Canvas canvas = {
        .def = def,
        .cells = (uint8_t *)text + size - cell_count,
        .left = (around ? view->own->x : 0.0) - span / 2.0,
        .top = (around ? view->own->y : 0.0) + span / 2.0,
        .cell_width = span / def->columns,
        .cell_height = span / (def->rows - 1),
    };
    return canvas;
}

static void paint(Canvas *canvas, double x, double y, uint8_t what)
{
    double column = floor((x - canvas->left) / canvas->cell_width);
    double row = floor((canvas->top - y) / canvas->cell_height);
    if (column >= 0.0 && column < canvas->def->columns && row >= 0.0 &&
        row < canvas->def->rows - 1) { // false for NaN
        canvas->cells[(int32_t)row * canvas->def->columns + (int32_t)column] = what;
    }
}

static bool in_building(const TanksWorld *world, const TanksBox *cell)
{
    for (int32_t i = 0; i < world->building_count; i++) {
        const TanksBox *box = &world->building[i];
        double x = (cell->low_x + cell->high_x) / 2.0;
        bool beside = x < box->low_x || x > box->high_x;
        // Rows are few and high: a cell is built up if half of its height is.
        double low = box->low_y > cell->low_y ? box->low_y : cell->low_y;
        double high = box->high_y < cell->high_y ? box->high_y : cell->high_y;
        if (!beside && high - low >= (cell->high_y - cell->low_y) / 2.0) {
            return true;
        }
    }
    return false;
}

static void paint_ground(Canvas *canvas, const TanksWorld *world)
{
    double extent = world->rules.half_extent;
    for (int32_t row = 0; row < canvas->def->rows - 1; row++) {
        for (int32_t column = 0; column < canvas->def->columns; column++) {
            TanksBox cell;
            cell.low_x = canvas->left + column * canvas->cell_width;
            cell.high_x = cell.low_x + canvas->cell_width;
            cell.high_y = canvas->top - row * canvas->cell_height;
            cell.low_y = cell.high_y - canvas->cell_height;
            double x = (cell.low_x + cell.high_x) / 2.0;
            double y = (cell.low_y + cell.high_y) / 2.0;
            uint8_t what = GROUND;
            if (fabs(x) > extent || fabs(y) > extent) {
                what = OUTSIDE;
            } else if (in_building(world, &cell)) {
                what = BUILDING;
            }
            canvas->cells[row * canvas->def->columns + column] = what;
        }
    }
    for (int32_t i = 0; i < world->building_count; i++) { // however small, it is somewhere
        const TanksBox *box = &world->building[i];
        paint(canvas, (box->low_x + box->high_x) / 2.0, (box->low_y + box->high_y) / 2.0, BUILDING);
    }
}

static uint8_t arrow(double yaw)
{
    static const char way[] = {'>', '^', '<', 'v'};
    return (uint8_t)way[fl_circle_index(isfinite(yaw) ? yaw : 0.0, 2)];
}

static void paint_things(Canvas *canvas, const TanksView *view)
{
    FlTime now = tanks_tick_time(view->world, view->tick);
    for (int32_t i = 0; i < view->shot_count; i++) {
        double x, y;
        if (tanks_shot_position(view->world, &view->shots[i], now, &x, &y)) {
            paint(canvas, x, y, SHOT);
        }
    }
    for (int32_t i = 0; i < view->tank_count; i++) {
        if (view->tanks[i].alive && (view->own == NULL || i != view->own->id)) {
            paint(canvas, view->tanks[i].x, view->tanks[i].y, (uint8_t)('A' + i % 26));
        }
    }
    if (view->own != NULL && view->own->alive) {
        paint(canvas, view->own->x, view->own->y, (uint8_t)(arrow(view->own->yaw) | OWN));
    }
}

// ---------------------------------------------------------------- writing

typedef struct Text {
    char *at;
} Text;

static void put(Text *text, const char *word)
{
    size_t length = strlen(word);
    memcpy(text->at, word, length);
    text->at += length;
}

static const char *colour_of(uint8_t cell)
{
    if ((cell & OWN) != 0) {
        return "\x1b[32m"; // green
    }
    switch (cell) {
    case BUILDING:
        return "\x1b[31m"; // red
    case SHOT:
        return "\x1b[33m"; // yellow
    case OUTSIDE:
        return "\x1b[34m"; // blue
    default:
        return "\x1b[37m"; // white
    }
}

static void write_row(Text *text, const Canvas *canvas, int32_t row)
{
    const char *colour = NULL;
    for (int32_t column = 0; column < canvas->def->columns; column++) {
        uint8_t cell = canvas->cells[row * canvas->def->columns + column];
        // Ground has no colour worth changing to.
        if (canvas->def->colours && cell != GROUND && colour != colour_of(cell)) {
            colour = colour_of(cell);
            put(text, colour);
        }
        *text->at++ = (char)(cell & 0x7fu);
    }
    if (canvas->def->colours) {
        put(text, "\x1b[0m");
    }
    *text->at++ = '\n';
}

// A line that ends at the last column, whatever is put on it.
typedef struct Line {
    char *at;
    int32_t left;
} Line;

static void line_word(Line *line, const char *word)
{
    for (; *word != '\0' && line->left > 0; word++, line->left--) {
        *line->at++ = *word;
    }
}

static void line_number(Line *line, uint64_t number)
{
    char digits[24];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    line_word(line, first);
}

static void line_score(Line *line, const TanksSeen *seen)
{
    line_number(line, seen->kills);
    line_word(line, ":");
    line_number(line, seen->deaths);
}

static bool ahead(const TanksSeen *a, const TanksSeen *b)
{
    return a->kills != b->kills ? a->kills > b->kills : a->deaths < b->deaths;
}

// "12.3 s   you 3:1   best C 5:2   9 of 16 alive"
static void write_score(Text *text, const TanksView *view, int32_t columns)
{
    Line line = {text->at, columns};
    int32_t alive = 0;
    int32_t best = -1;
    for (int32_t i = 0; i < view->tank_count; i++) {
        alive += view->tanks[i].alive ? 1 : 0;
        if (best < 0 || ahead(&view->tanks[i], &view->tanks[best])) {
            best = i;
        }
    }
    int64_t tick = view->tick > 0 ? view->tick : 0;
    uint64_t tenths = (uint64_t)(tanks_tick_time(view->world, tick) / FL_MS(100));
    line_number(&line, tenths / 10);
    line_word(&line, ".");
    line_number(&line, tenths % 10);
    line_word(&line, " s");
    if (view->own != NULL) {
        TanksSeen own = tanks_tank_seen(view->own);
        line_word(&line, own.alive ? "   you " : "   dead ");
        line_score(&line, &own);
    }
    if (best >= 0) {
        char name[] = {(char)('A' + best % 26), ' ', '\0'};
        line_word(&line, "   best ");
        line_word(&line, name);
        line_score(&line, &view->tanks[best]);
    }
    line_word(&line, "   ");
    line_number(&line, (uint64_t)alive);
    line_word(&line, " of ");
    line_number(&line, (uint64_t)view->tank_count);
    line_word(&line, " alive");
    while (line.left > 0) {
        line_word(&line, " ");
    }
    text->at = line.at;
    *text->at++ = '\n';
}

size_t tanks_draw(const TanksView *view, const TanksDrawDef *def, char *text, size_t size)
{
    check_def(def);
    if (size < tanks_draw_bytes(def)) {
        if (size > 0) {
            text[0] = '\0';
        }
        return 0;
    }
    Canvas canvas = canvas_make(view, def, text, size);
    paint_ground(&canvas, view->world);
    paint_things(&canvas, view);
    Text out = {text};
    write_score(&out, view, def->columns);
    for (int32_t row = 0; row < def->rows - 1; row++) {
        write_row(&out, &canvas, row);
    }
    *out.at = '\0';
    return (size_t)(out.at - text);
}
