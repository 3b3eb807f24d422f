// Thirty-two characters: what each likes. How well it does it is its skill, not its character.
//
// Numbers are 0 … 9. Likings are for melee, gun, sniper, rocket; then come aggression, camping,
// hunger, nimbleness, steadiness (private.h says what they mean). No character is meant to be
// better than another; played long enough, some are, by a little.
#include "private.h"

static const ArenaCharacter CHARACTERS[ARENA_CHARACTER_COUNT] = {
    {"anvil", {6, 5, 2, 7}, 8, 1, 4, 3, 4, {0}},    {"badger", {8, 6, 1, 4}, 9, 0, 5, 5, 2, {0}},
    {"cinder", {2, 4, 3, 9}, 7, 2, 5, 5, 3, {0}},   {"dagger", {9, 5, 2, 3}, 9, 0, 3, 8, 3, {0}},
    {"ember", {2, 8, 3, 6}, 6, 2, 6, 6, 4, {0}},    {"falcon", {1, 4, 9, 3}, 4, 6, 5, 4, 8, {0}},
    {"gravel", {5, 7, 3, 5}, 6, 3, 4, 2, 5, {0}},   {"hermit", {1, 5, 8, 4}, 2, 8, 6, 3, 8, {0}},
    {"ironwood", {4, 6, 4, 6}, 5, 4, 5, 3, 6, {0}}, {"jackal", {5, 7, 2, 5}, 7, 1, 8, 7, 3, {0}},
    {"kestrel", {1, 5, 8, 4}, 5, 4, 5, 8, 7, {0}},  {"lantern", {3, 6, 5, 5}, 4, 5, 7, 4, 6, {0}},
    {"magpie", {3, 6, 4, 6}, 3, 1, 9, 6, 4, {0}},   {"nettle", {4, 8, 3, 4}, 7, 2, 4, 7, 2, {0}},
    {"otter", {3, 7, 4, 5}, 5, 2, 7, 8, 5, {0}},    {"pepper", {5, 6, 2, 8}, 9, 0, 4, 7, 1, {0}},
    {"quarry", {4, 5, 5, 7}, 5, 5, 6, 2, 7, {0}},   {"raven", {2, 5, 8, 5}, 6, 5, 4, 5, 7, {0}},
    {"saffron", {2, 7, 6, 5}, 5, 3, 6, 6, 6, {0}},  {"thistle", {6, 7, 3, 5}, 8, 1, 5, 6, 3, {0}},
    {"umber", {3, 6, 6, 6}, 4, 6, 5, 3, 7, {0}},    {"viper", {7, 6, 5, 4}, 7, 4, 3, 8, 6, {0}},
    {"walnut", {4, 6, 5, 5}, 4, 4, 6, 3, 5, {0}},   {"xylem", {2, 6, 5, 7}, 5, 3, 7, 5, 5, {0}},
    {"yarrow", {3, 8, 4, 4}, 5, 3, 6, 6, 5, {0}},   {"zephyr", {3, 6, 4, 7}, 7, 0, 5, 9, 3, {0}},
    {"bramble", {5, 8, 2, 4}, 6, 3, 5, 4, 2, {0}},  {"copper", {4, 6, 4, 8}, 6, 2, 7, 4, 5, {0}},
    {"drift", {2, 5, 7, 6}, 3, 7, 5, 5, 8, {0}},    {"flint", {6, 6, 6, 4}, 8, 2, 3, 5, 6, {0}},
    {"harrow", {4, 7, 5, 6}, 7, 3, 5, 4, 4, {0}},   {"isle", {3, 5, 7, 5}, 2, 9, 6, 2, 9, {0}},
};

const ArenaCharacter *arena__character(int32_t character)
{
    FL_ASSERT(character >= 0 && character < ARENA_CHARACTER_COUNT);
    return &CHARACTERS[character];
}

const char *arena_character_name(int32_t character)
{
    return arena__character(character)->name;
}
