// A game as text, for terminals, logs and tests.
//
// The picture is a grid of characters: walls '#', crates 'o', shut doors '=', items in small signs,
// flags '<' and '>', missiles '*', players as letters.
#include <string.h>

#include "picture/picture.h"
#include "private.h"

// What is solid at a place: a sign, or a blank.
static char ground_at(const ArenaGame *game, const ArenaState *view, double x, double y)
{
    if (fabs(x) > game->half || fabs(y) > game->half) {
        return '.';
    }
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        if (x >= b->low_x && x <= b->high_x && y >= b->low_y && y <= b->high_y) {
            return b->top > ARENA_JUMP_UP ? '#' : 'o';
        }
    }
    for (int32_t i = 0; i < game->door_count; i++) {
        const ArenaBox *b = &game->door[i];
        double margin = 20.0; // doors are thinner than cells
        if (!arena_door_open(view, i) && x >= b->low_x - margin && x <= b->high_x + margin &&
            y >= b->low_y && y <= b->high_y) {
            return '=';
        }
    }
    return ' ';
}

static void ground_draw(const ArenaGame *game, const ArenaState *view, const Picture *p)
{
    for (int32_t row = 0; row < p->rows; row++) {
        char *line = p->cells + row * (p->columns + 1);
        double y = p->top - (row + 0.5) * p->row_units;
        for (int32_t column = 0; column < p->columns; column++) {
            double x = p->left + (column + 0.5) * 0.5 * p->row_units;
            line[column] = ground_at(game, view, x, y);
        }
        line[p->columns] = '\n';
    }
}

static char player_mark(int32_t player)
{
    int32_t letter = player % 52;
    return (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26);
}

static void picture_draw(const ArenaGame *game, const ArenaState *view, const Picture *p)
{
    static const char ITEM_MARK[ARENA_ITEM_KIND_COUNT] = {
        [ARENA_ITEM_HEALTH] = '\'', [ARENA_ITEM_MEDKIT] = '"', [ARENA_ITEM_ARMOUR] = '%',
        [ARENA_ITEM_BULLETS] = ':', [ARENA_ITEM_SNIPER] = '!', [ARENA_ITEM_ROCKET] = '^',
    };
    ground_draw(game, view, p);
    for (int32_t i = 0; i < game->item_count; i++) {
        if (arena_item_there(view, i)) {
            FlVec3 at = game->item[i].position;
            picture_put(p, at.x, at.y, ITEM_MARK[game->item[i].kind]);
        }
    }
    for (int32_t i = 0; game->def.flags && i < ARENA_TEAM_COUNT; i++) {
        if (view->flag[i].place != ARENA_FLAG_CARRIED) {
            picture_put(p, view->flag[i].x, view->flag[i].y, i == 0 ? '<' : '>');
        }
    }
    for (int32_t i = 0; i < view->missile_count; i++) {
        FlVec3 at = arena_missile_position(view, &view->missile[i]);
        picture_put(p, at.x, at.y, '*');
    }
    for (int32_t i = view->player_count - 1; i >= 0; i--) { // so that A is on top
        const ArenaPlayer *player = &view->player[i];
        picture_put(p, player->x, player->y, player->alive != 0 ? player_mark(i) : '+');
    }
}

// ---------------------------------------------------------------- standings

static char *standing_write(const ArenaState *view, int32_t rank, int32_t player, char *at)
{
    const ArenaPlayer *p = &view->player[player];
    at = picture_number(at, rank + 1, 2);
    *at++ = ' ';
    *at++ = player_mark(player);
    at = picture_number(at, p->score, 6);
    at = picture_number(picture_text(at, "  died "), p->deaths, 1);
    at = picture_number(picture_text(at, "  health "), p->health, 1);
    at = picture_text(picture_text(at, "  "), arena_weapon_name((ArenaWeapon)p->weapon));
    at = picture_text(at, p->carries >= 0 ? "  flag\n" : "\n");
    return at;
}

// Best score first, ties to the smaller number.
static void standings(const ArenaState *view, int32_t order[ARENA_PLAYER_CAPACITY])
{
    for (int32_t i = 0; i < view->player_count; i++) {
        int32_t rank = i;
        for (; rank > 0 && view->player[i].score > view->player[order[rank - 1]].score; rank--) {
            order[rank] = order[rank - 1];
        }
        order[rank] = i;
    }
}

size_t arena_draw(const ArenaGame *game, const ArenaState *view, int32_t columns, int32_t rows,
                  char *text, size_t capacity)
{
    FL_ASSERT(columns >= PICTURE_COLUMNS_MIN && rows >= PICTURE_ROWS_MIN && columns <= 1000 &&
              rows <= 1000);
    if (capacity > 0) {
        text[0] = '\0';
    }
    if (capacity < ARENA_DRAW_BYTES(columns, rows, view->player_count)) {
        return 0;
    }
    double wide = 2.0 * game->half / columns * 2.0, high = 2.0 * game->half / rows;
    Picture p = {.cells = text, .columns = columns, .rows = rows};
    p.row_units = wide > high ? wide : high;
    p.left = -0.25 * p.row_units * columns;
    p.top = 0.5 * p.row_units * rows;
    picture_draw(game, view, &p);
    int32_t order[ARENA_PLAYER_CAPACITY] = {0};
    standings(view, order);
    char *at = text + (size_t)rows * (size_t)(columns + 1);
    for (int32_t rank = 0; rank < view->player_count; rank++) {
        at = standing_write(view, rank, order[rank], at);
    }
    *at = '\0';
    return (size_t)(at - text);
}
