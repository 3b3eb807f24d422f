// Bytes of fields against the blob, for what changes in the three games of this tree: what a STATE
// and a FIELDS take for each change, by the library's own code. docs/guide/fields.md has the table.
//
// Fields have the ranges that the games' blobs have; a group is what changes together.
#include "support.h"

#include "lab/experiments/fields/fields.h"
#include "wire/fields.h"

enum { SECTION_HEAD = 7 }; // of STATE and FIELDS alike

typedef struct Case {
    const char *what;
    uint32_t groups; // that change
} Case;

// Of fields_games, in its order.
static const Case CASES_OF[FIELDS_GAME_COUNT][4] = {
    {{"a shot", 2}, {"a kill", 4}, {"it dies", 1}, {"all", 7}},
    {{"half a lap", 2}, {"a contact", 4}, {"it finishes", 1}, {"all", 7}},
    {{"a shot", 2}, {"it is hit", 16}, {"it dies", 1 | 16 | 32}, {"all", 63}},
};

static void what_changes_takes_fewer_bytes_as_fields_than_as_a_blob(void **state)
{
    (void)state;
    for (int32_t g = 0; g < FIELDS_GAME_COUNT; g++) {
        const FieldsGame *game = &fields_games[g];
        const int64_t nothing[FIELDS_MOST] = {0};
        uint8_t bytes_of_blob[64];
        FlKindDef def = {
            .name = game->name, .fields = game->fields, .field_count = game->field_count};
        FieldLayout layout;
        uint8_t packed[FL_FIELDS_BYTES];
        int32_t field;
        assert_null(fl__layout_init(&def, &layout, &field));
        fl__fields_clear(&layout, packed);
        for (int32_t i = 0; i < 4; i++) {
            const Case *c = &CASES_OF[g][i];
            int32_t blob = SECTION_HEAD + fields_blob(game, nothing, bytes_of_blob);
            int32_t bytes = SECTION_HEAD + fl__groups_bytes(&layout, packed, c->groups);
            print_message("             %-7s %-12s blob %2d, fields %2d\n", game->name, c->what,
                          blob, bytes);
            assert_true(bytes < blob || i == 3); // all at once: a mask more, ranges less
            assert_true(bytes <= blob + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_takes_fewer_bytes_as_fields_than_as_a_blob),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
