// Deeds: what players do to each other and to things, and what becomes of it.
//
// Three places, one for each party: arena__touch makes deeds (the actor, by what it sees),
// arena_deed_apply decides them (the owner of the target, by the truth), arena_deed_learn brings
// the actor what it got. A deed names the very thing that it is meant for (a player's life, an
// item's count, a flag's count of moves), so that of many who want the same thing one gets it, and
// what comes too late is refused.
#include <string.h>

#include "private.h"

#define ASK_TICKS 10 // a request is not repeated before
#define DOOR_REACH 40.0
#define DOOR_USE_REACH 110.0
#define DOOR_AHEAD_TICKS 8 // who walks through an open door keeps it from shutting

// ---------------------------------------------------------------- making them

static bool touches(const ArenaPlayer *p, FlVec3 thing)
{
    return fabs(p->x - thing.x) < ARENA_TOUCH && fabs(p->y - thing.y) < ARENA_TOUCH &&
           fabs(p->z - thing.z) < ARENA_FEET + ARENA_HEAD;
}

// What an item fills: health, armour, or some ammunition.
static int32_t *filled_by(ArenaPlayer *p, ArenaItemKind kind)
{
    switch (kind) {
    case ARENA_ITEM_HEALTH:
    case ARENA_ITEM_MEDKIT:
        return &p->health;
    case ARENA_ITEM_ARMOUR:
        return &p->armour;
    case ARENA_ITEM_SNIPER:
        return &p->ammo[ARENA_WEAPON_SNIPER];
    case ARENA_ITEM_ROCKET:
        return &p->ammo[ARENA_WEAPON_ROCKET];
    case ARENA_ITEM_BULLETS:
    case ARENA_ITEM_KIND_COUNT:
        break;
    }
    return &p->ammo[ARENA_WEAPON_GUN];
}

bool arena__item_useful(const ArenaGame *game, const ArenaPlayer *player, int32_t item)
{
    ArenaPlayer p = *player;
    ArenaItemKind kind = game->item[item].kind;
    return *filled_by(&p, kind) < arena__item_rule(kind)->most;
}

static void ask(const ArenaState *view, ArenaPlayer *p, ArenaDeed deed, ArenaDeeds *deeds)
{
    int32_t asked = (int32_t)deed.kind * 64 + deed.target;
    if (p->asked == asked && view->tick < p->asked_until) {
        return;
    }
    p->asked = asked;
    p->asked_until = view->tick + ASK_TICKS;
    arena__deed_add(deeds, deed);
}

static void touch_items(const ArenaGame *game, ArenaState *view, int32_t player, ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    for (int32_t i = 0; i < game->item_count; i++) {
        if (touches(p, game->item[i].position) && arena_item_there(view, i) &&
            arena__item_useful(game, p, i)) {
            ask(view, p,
                (ArenaDeed){.kind = ARENA_DEED_PICKUP,
                            .actor = player,
                            .target = i,
                            .which = view->item[i].taken},
                deeds);
        }
    }
}

static void touch_doors(const ArenaGame *game, ArenaState *view, int32_t player, bool use,
                        ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    double reach = use ? DOOR_USE_REACH : DOOR_REACH;
    for (int32_t i = 0; i < game->door_count; i++) {
        const ArenaBox *b = &game->door[i];
        bool near = p->x > b->low_x - reach && p->x < b->high_x + reach &&
                    p->y > b->low_y - reach && p->y < b->high_y + reach;
        if (near && view->door[i].open_until < view->tick + DOOR_AHEAD_TICKS) {
            ask(view, p, (ArenaDeed){.kind = ARENA_DEED_DOOR, .actor = player, .target = i}, deeds);
        }
    }
}

static ArenaDeed drop_of(const ArenaPlayer *p, int32_t player, int32_t flag)
{
    return (ArenaDeed){.kind = ARENA_DEED_DROP,
                       .actor = player,
                       .target = flag,
                       .x = (int32_t)floor(p->x),
                       .y = (int32_t)floor(p->y),
                       .z = (int32_t)floor(p->z)};
}

static void touch_flags(ArenaState *view, int32_t player, ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    int32_t mine = p->team, theirs = 1 - p->team;
    for (int32_t i = 0; i < ARENA_TEAM_COUNT; i++) {
        const ArenaFlag *f = &view->flag[i];
        ArenaDeed deed = {.actor = player, .target = i, .which = f->moves};
        if (f->place == ARENA_FLAG_CARRIED || !touches(p, fl_vec3(f->x, f->y, f->z))) {
            continue;
        }
        if (i == theirs && p->carries < 0) {
            deed.kind = ARENA_DEED_TAKE;
        } else if (i == mine && f->place == ARENA_FLAG_LYING) {
            deed.kind = ARENA_DEED_BACK;
        } else if (i == mine && p->carries == theirs) {
            deed.kind = ARENA_DEED_CAPTURE;
            deed.target = theirs;
            deed.which = view->flag[theirs].moves;
        } else {
            continue;
        }
        ask(view, p, deed, deeds);
    }
}

// A flag that fell to a player who has died since lies with nobody: he lets it go.
static void let_go(ArenaState *view, int32_t player, ArenaDeeds *deeds)
{
    ArenaPlayer *p = &view->player[player];
    for (int32_t i = 0; i < ARENA_TEAM_COUNT; i++) {
        const ArenaFlag *f = &view->flag[i];
        if (f->place == ARENA_FLAG_CARRIED && f->carrier == player && p->carries != i) {
            ask(view, p, drop_of(p, player, i), deeds);
        }
    }
}

void arena__touch(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                  ArenaDeeds *deeds)
{
    if (game->def.flags) {
        let_go(view, player, deeds);
    }
    if (view->player[player].alive == 0) {
        return;
    }
    touch_items(game, view, player, deeds);
    touch_doors(game, view, player, (input.buttons & ARENA_BUTTON_USE) != 0, deeds);
    if (game->def.flags) {
        touch_flags(view, player, deeds);
    }
}

// ---------------------------------------------------------------- deciding them

static void die(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed, ArenaDeeds *more)
{
    ArenaPlayer *p = &state->player[deed->target];
    p->alive = 0;
    p->health = 0;
    p->deaths++;
    p->respawn_at = state->tick + game->def.respawn_ticks;
    p->vx = p->vy = p->vz = 0.0;
    bool own = deed->actor == deed->target;
    arena__deed_add(more, (ArenaDeed){.kind = ARENA_DEED_SCORE,
                                      .actor = deed->target,
                                      .target = deed->actor,
                                      .which = p->life,
                                      .weapon = deed->weapon,
                                      .amount = own ? -1 : 1});
    if (p->carries >= 0) {
        arena__deed_add(more, drop_of(p, deed->target, p->carries));
        p->carries = -1;
    }
}

static ArenaVerdict apply_damage(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed,
                                 ArenaDeeds *more)
{
    ArenaPlayer *p = &state->player[deed->target];
    const ArenaPlayer *by = &state->player[deed->actor];
    bool friendly = deed->actor != deed->target && arena__same_side(game, by, p);
    if (p->alive == 0 || p->life != deed->which || friendly ||
        deed->amount > arena__weapon_rule(deed->weapon)->damage) {
        return ARENA_REFUSED;
    }
    int32_t absorbed = arena__least(p->armour, deed->amount * 2 / 3);
    p->armour -= absorbed;
    p->health -= deed->amount - absorbed;
    p->vx += deed->x;
    p->vy += deed->y;
    p->vz += deed->z;
    arena__hold_speed(p);
    if (p->health <= 0) {
        die(game, state, deed, more);
    }
    return ARENA_APPLIED;
}

static ArenaVerdict apply_score(ArenaState *state, const ArenaDeed *deed)
{
    ArenaPlayer *p = &state->player[deed->target];
    if ((deed->actor == deed->target) != (deed->amount < 0)) {
        return ARENA_REFUSED;
    }
    p->score += deed->amount;
    p->kills += deed->amount > 0 ? 1 : 0;
    return ARENA_APPLIED;
}

static ArenaVerdict apply_pickup(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed)
{
    if (deed->target >= game->item_count) {
        return ARENA_REFUSED;
    }
    ArenaItem *item = &state->item[deed->target];
    if (!arena_item_there(state, deed->target) || item->taken != deed->which) {
        return ARENA_REFUSED;
    }
    item->taken++;
    item->back_at = state->tick + arena__item_rule(game->item[deed->target].kind)->ticks;
    return ARENA_APPLIED;
}

static ArenaVerdict apply_door(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed)
{
    if (deed->target >= game->door_count) {
        return ARENA_REFUSED;
    }
    ArenaDoor *door = &state->door[deed->target];
    door->uses += arena_door_open(state, deed->target) ? 0 : 1;
    door->open_until = state->tick + ARENA_DOOR_TICKS;
    return ARENA_APPLIED;
}

static void flag_put(const ArenaGame *game, ArenaState *state, int32_t flag, ArenaFlagPlace place)
{
    ArenaFlag *f = &state->flag[flag];
    f->place = (int32_t)place;
    f->carrier = -1;
    f->moves++;
    if (place == ARENA_FLAG_HOME) {
        f->x = game->base[flag].x;
        f->y = game->base[flag].y;
        f->z = game->base[flag].z;
    }
}

static void flag_drop(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed)
{
    flag_put(game, state, deed->target, ARENA_FLAG_LYING);
    ArenaFlag *f = &state->flag[deed->target];
    f->x = deed->x;
    f->y = deed->y;
    f->z = deed->z;
    f->back_at = state->tick + ARENA_FLAG_TICKS;
}

static ArenaVerdict apply_flag(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed)
{
    if (!game->def.flags || deed->target >= ARENA_TEAM_COUNT) {
        return ARENA_REFUSED;
    }
    ArenaFlag *f = &state->flag[deed->target];
    bool own = state->player[deed->actor].team == deed->target;
    bool same = f->moves == deed->which;
    bool carried = f->place == ARENA_FLAG_CARRIED && f->carrier == deed->actor;
    switch (deed->kind) {
    case ARENA_DEED_TAKE:
        if (own || !same || f->place == ARENA_FLAG_CARRIED) {
            return ARENA_REFUSED;
        }
        flag_put(game, state, deed->target, ARENA_FLAG_CARRIED);
        f->carrier = deed->actor;
        return ARENA_APPLIED;
    case ARENA_DEED_DROP:
        if (!carried || !arena__flag_may_lie(game, deed->x, deed->y, deed->z)) {
            return ARENA_REFUSED;
        }
        flag_drop(game, state, deed);
        return ARENA_APPLIED;
    case ARENA_DEED_BACK:
        if (!own || !same || f->place != ARENA_FLAG_LYING) {
            return ARENA_REFUSED;
        }
        flag_put(game, state, deed->target, ARENA_FLAG_HOME);
        return ARENA_APPLIED;
    default: // a capture
        if (own || !carried || state->flag[1 - deed->target].place != ARENA_FLAG_HOME) {
            return ARENA_REFUSED;
        }
        flag_put(game, state, deed->target, ARENA_FLAG_HOME);
        f->captures++;
        return ARENA_APPLIED;
    }
}

static bool players_exist(const ArenaState *state, const ArenaDeed *deed)
{
    bool at_player = !arena_deed_at_thing(deed->kind);
    return deed->actor >= 0 && deed->actor < state->player_count && deed->target >= 0 &&
           (!at_player || deed->target < state->player_count);
}

ArenaVerdict arena_deed_apply(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed,
                              ArenaDeeds *more)
{
    if (!players_exist(state, deed)) {
        return ARENA_REFUSED;
    }
    switch (deed->kind) {
    case ARENA_DEED_DAMAGE:
        return apply_damage(game, state, deed, more);
    case ARENA_DEED_SCORE:
        return apply_score(state, deed);
    case ARENA_DEED_PICKUP:
        return apply_pickup(game, state, deed);
    case ARENA_DEED_DOOR:
        return apply_door(game, state, deed);
    case ARENA_DEED_TAKE:
    case ARENA_DEED_DROP:
    case ARENA_DEED_BACK:
    case ARENA_DEED_CAPTURE:
        return apply_flag(game, state, deed);
    case ARENA_DEED_NONE:
    case ARENA_DEED_COUNT:
        break;
    }
    return ARENA_REFUSED;
}

// ---------------------------------------------------------------- what comes back

ArenaAnswer arena_deed_answer(const ArenaState *state, const ArenaDeed *deed)
{
    ArenaAnswer answer = {0};
    int32_t target = deed->target;
    if (!players_exist(state, deed)) {
        return answer;
    }
    if (deed->kind == ARENA_DEED_PICKUP && target < ARENA_ITEM_CAPACITY) {
        answer.first = state->item[target].back_at;
        answer.third = state->item[target].taken;
    } else if (deed->kind == ARENA_DEED_DOOR && target < ARENA_DOOR_CAPACITY) {
        answer.first = state->door[target].open_until;
        answer.third = state->door[target].uses;
    } else if (deed->kind > ARENA_DEED_DOOR && target < ARENA_TEAM_COUNT) {
        const ArenaFlag *f = &state->flag[target];
        answer = (ArenaAnswer){f->place,      f->carrier,    f->moves,  (int32_t)f->x,
                               (int32_t)f->y, (int32_t)f->z, f->back_at};
    } else if (!arena_deed_at_thing(deed->kind)) {
        const ArenaPlayer *p = &state->player[target];
        answer.first = p->health;
        answer.second = p->armour;
        answer.third = p->life;
    }
    return answer;
}

static void show_flag(ArenaState *view, ArenaFlag *f, const ArenaAnswer *answer)
{
    bool carried = answer->first == ARENA_FLAG_CARRIED && answer->second >= 0 &&
                   answer->second < view->player_count;
    f->place = carried                             ? ARENA_FLAG_CARRIED
               : answer->first == ARENA_FLAG_LYING ? ARENA_FLAG_LYING
                                                   : ARENA_FLAG_HOME;
    f->carrier = carried ? answer->second : -1;
    f->moves = answer->third;
    f->x = answer->x;
    f->y = answer->y;
    f->z = answer->z;
    f->back_at = answer->back_at;
}

void arena_deed_show(const ArenaGame *game, ArenaState *view, const ArenaDeed *deed,
                     const ArenaAnswer *answer)
{
    int32_t target = deed->target;
    if (!players_exist(view, deed)) {
        return;
    }
    if (deed->kind == ARENA_DEED_PICKUP && target < game->item_count) {
        view->item[target] = (ArenaItem){answer->first, answer->third};
    } else if (deed->kind == ARENA_DEED_DOOR && target < game->door_count) {
        view->door[target] = (ArenaDoor){answer->first, answer->third};
    } else if (deed->kind > ARENA_DEED_DOOR && game->def.flags && target < ARENA_TEAM_COUNT) {
        show_flag(view, &view->flag[target], answer);
    } else if (!arena_deed_at_thing(deed->kind)) {
        ArenaPlayer *p = &view->player[target];
        if (((p->life ^ answer->third) & 0xffffu) == 0) { // a status shows 16 bits of a life
            p->health = (int32_t)number_clamp(answer->first, 0, ARENA_HEALTH_MAX);
            p->armour = (int32_t)number_clamp(answer->second, 0, ARENA_HEALTH_MAX);
            p->alive = p->health > 0 ? 1 : 0;
        }
    }
}

static void take_item(const ArenaGame *game, ArenaPlayer *p, int32_t item)
{
    ArenaItemKind kind = game->item[item].kind;
    const ArenaItemRule *rule = arena__item_rule(kind);
    int32_t *what = filled_by(p, kind);
    int32_t full = arena__least(*what + rule->amount, rule->most);
    *what = *what > full ? *what : full;
    if (kind == ARENA_ITEM_SNIPER) {
        p->owned |= 1u << ARENA_WEAPON_SNIPER;
    } else if (kind == ARENA_ITEM_ROCKET) {
        p->owned |= 1u << ARENA_WEAPON_ROCKET;
    }
}

void arena_deed_learn(const ArenaGame *game, ArenaState *view, const ArenaDeed *deed,
                      ArenaVerdict verdict, const ArenaAnswer *answer)
{
    if (!players_exist(view, deed)) {
        return;
    }
    if (answer != NULL) {
        arena_deed_show(game, view, deed, answer);
    }
    ArenaPlayer *p = &view->player[deed->actor];
    if (verdict != ARENA_APPLIED || p->alive == 0) {
        return;
    }
    if (deed->kind == ARENA_DEED_PICKUP && deed->target < game->item_count) {
        take_item(game, p, deed->target);
    } else if (deed->kind == ARENA_DEED_TAKE) {
        p->carries = deed->target;
    } else if (deed->kind == ARENA_DEED_CAPTURE && p->carries == deed->target) {
        p->carries = -1;
        p->captures++;
        p->score += ARENA_CAPTURE_SCORE;
    }
}
