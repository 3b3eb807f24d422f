// The focus policies, frame by frame: who is in focus, who gets an update, and that no frame plans
// more than it may.
#include "fairlead/link.h"
#include "send/placed.h"
#include "send/policy.h"
#include "send/private.h"

#include "link/link.h"
#include "unit/support.h"

enum { ENTITIES = 5, RECEIVERS = 12 };

#define HEADER 40.0

typedef struct Stage {
    FlLedger *ledger;
    FlTime now;
    FlRandom random;
} Stage;

static void open_stage(Stage *s, const FlSend *send, int32_t entities, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->random.seed = seed;
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = ENTITIES;
    def.receiver_capacity = RECEIVERS;
    assert_int_equal(fl_ledger_create(&def, &s->ledger), FL_OK);
    for (int32_t e = 0; e < entities; e++) {
        fl_ledger_entity_begin(s->ledger, e, send);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            fl_ledger_watch(s->ledger, e, r, true, 0);
        }
    }
}

static void export(Stage *s, int32_t entity, double x, uint32_t life)
{
    FlState state = {.time = s->now, .position = {x, 0.0, 0.0}, .facing = fl_facing_none()};
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
    fl_ledger_export(s->ledger, entity, &motion, life, s->now);
}

// Everything due goes out at once, and arrives; returns how many, and sets a bit for each receiver.
static int32_t send_due(Stage *s, uint64_t *to)
{
    int32_t count = 0;
    *to = 0;
    for (int32_t r = 0; r < RECEIVERS; r++) {
        FlDue due;
        for (int32_t e = 0; fl_ledger_due(s->ledger, r, e, &due); e = due.entity + 1) {
            fl_ledger_sent(s->ledger, r, due, s->now);
            fl_ledger_arrived(s->ledger, r, due, s->now, s->now, s->now);
            *to |= fl__bit(r);
            count++;
        }
    }
    return count;
}

// One frame with so many bytes.
static int32_t frame(Stage *s, double bytes, uint64_t *to)
{
    s->now += FL_MS(50);
    fl__ledger_allow(s->ledger, bytes, HEADER);
    fl_ledger_update(s->ledger, s->now);
    return send_due(s, to);
}

static void the_n_who_look_most_get_every_update(void **state)
{
    (void)state;
    Stage s;
    FlSend send = fl_send_make(FL_SEND_FOCUS);
    open_stage(&s, &send, 1, 1);
    fl__ledger_update_bytes(s.ledger, 0, 20);
    for (int32_t r = 0; r < RECEIVERS; r++) {
        fl__ledger_attention(s.ledger, 0, r, r < 6 ? 0.1 + 0.1 * r : 0.0);
    }
    uint64_t to;
    export(&s, 0, 0.0, 1);
    assert_int_equal(frame(&s, 1e6, &to), RECEIVERS); // everybody has it now
    int32_t count[RECEIVERS] = {0};
    for (int32_t i = 0; i < 100; i++) {
        export(&s, 0, i, 1);
        // 4 updates of 60 bytes: 3 are for the focus, one goes in turn
        assert_int_equal(frame(&s, 241.0, &to), 4);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            count[r] += (to & fl__bit(r)) != 0;
        }
        assert_int_equal(fl__ledger_class(s.ledger, 0, 5), FL_CLASS_FOCUS);
        // its class follows half a second after it fell out of the set
        assert_int_equal(fl__ledger_class(s.ledger, 0, 2),
                         i < 9 ? FL_CLASS_FOCUS : FL_CLASS_BEST_EFFORT);
        assert_int_equal(fl__ledger_frame(s.ledger).focus_count, 3);
        assert_int_equal(fl__ledger_frame(s.ledger).waiting_count, RECEIVERS - 4);
    }
    for (int32_t r = 0; r < RECEIVERS; r++) {
        assert_in_range(count[r], r >= 3 && r < 6 ? 100 : 11, r >= 3 && r < 6 ? 100 : 12);
    }
    fl_ledger_destroy(s.ledger);
}

static void a_part_of_one_in_focus_counts_at_later_frames(void **state)
{
    (void)state;
    const FlSend policies[2] = {fl_send_make(FL_SEND_FOCUS), fl_send_make(FL_SEND_FOCUS_EQUAL)};
    for (int32_t p = 0; p < 2; p++) {
        Stage s;
        open_stage(&s, &policies[p], 1, 1);
        fl__ledger_update_bytes(s.ledger, 0, 20);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            fl__ledger_attention(s.ledger, 0, r, 0.5);
        }
        int32_t in_focus = 0;
        for (int32_t i = 0; i < 200; i++) {
            uint64_t to;
            export(&s, 0, i, 1);
            (void)frame(&s, 5.0 * 60.0 + 31.0, &to); // five updates: 3.75 are for the set
            int32_t count = fl__ledger_frame(s.ledger).focus_count;
            assert_in_range(count, 3, 4);
            in_focus += count;
        }
        assert_int_equal(in_focus, 750);
        fl_ledger_destroy(s.ledger);
    }
}

static void who_does_not_look_is_never_in_focus(void **state)
{
    (void)state;
    Stage s;
    FlSend send = fl_send_make(FL_SEND_FOCUS);
    open_stage(&s, &send, 1, 1);
    uint64_t to;
    int32_t count[RECEIVERS] = {0};
    for (int32_t i = 0; i < 121; i++) {
        export(&s, 0, i, 1);
        (void)frame(&s, 5.0 * 64.0, &to);
        assert_int_equal(fl__ledger_frame(s.ledger).focus_count, 0);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            count[r] += (to & fl__bit(r)) != 0;
        }
    }
    for (int32_t r = 0; r < RECEIVERS; r++) { // all take turns
        assert_in_range(count[r], 44, 57);
    }
    fl_ledger_destroy(s.ledger);
}

static void too_few_bytes_for_one_update_are_credit_for_the_next_frame(void **state)
{
    (void)state;
    const FlSend policies[2] = {fl_send_make(FL_SEND_FOCUS), fl_send_make(FL_SEND_FOCUS_EQUAL)};
    for (int32_t p = 0; p < 2; p++) {
        Stage s;
        open_stage(&s, &policies[p], 1, 1);
        fl__ledger_update_bytes(s.ledger, 0, 35); // 75 with headers
        fl__ledger_attention(s.ledger, 0, 3, 1.0);
        FlBudget budget;
        fl__budget_init(&budget, 600.0, 300.0, 0); // 30 bytes a frame: 8 updates a second
        budget.tokens = 0.0;
        int32_t sent = 0;
        for (int32_t i = 0; i < 200; i++) {
            export(&s, 0, i, 1);
            uint64_t to;
            double before = fl__budget_available(&budget, s.now + FL_MS(50));
            int32_t count = frame(&s, before, &to);
            fl__budget_spend(&budget, s.now, 75.0 * count);
            assert_true(budget.tokens >= 0.0);
            sent += count;
        }
        assert_in_range(sent, 79, 80);
        fl_ledger_destroy(s.ledger);
    }
}

static void a_new_life_goes_to_everybody_first(void **state)
{
    (void)state;
    const FlSend policies[2] = {fl_send_make(FL_SEND_FOCUS), fl_send_make(FL_SEND_FOCUS_EQUAL)};
    for (int32_t p = 0; p < 2; p++) {
        Stage s;
        open_stage(&s, &policies[p], 1, 1);
        for (int32_t r = 0; r < RECEIVERS; r++) {
            fl__ledger_attention(s.ledger, 0, r, r < 2 ? 0.9 : 0.3);
        }
        uint64_t to;
        export(&s, 0, 0.0, 1);
        (void)frame(&s, 1e6, &to);
        FlFocusDef def = {.frame_ns = FL_MS(50), .share = 0.5, .base = 0.02};
        assert_int_equal(fl__ledger_focus(s.ledger, &def), FL_OK);
        uint64_t all = 0;
        for (int32_t i = 0; i < 6; i++) { // 4 updates a frame, 2 of them for the focus
            export(&s, 0, 100.0 + i, 2);
            (void)frame(&s, 4.0 * 64.0, &to);
            all |= to;
        }
        assert_int_equal(all, (1 << RECEIVERS) - 1);
        export(&s, 0, 0.0, FL_LIFE_NONE); // and so does the end
        all = 0;
        for (int32_t i = 0; i < 6; i++) {
            (void)frame(&s, 4.0 * 64.0, &to);
            (void)frame(&s, 4.0 * 64.0, &to);
            all |= to;
        }
        for (int32_t r = 0; r < RECEIVERS; r++) {
            assert_int_equal(fl__pair(s.ledger, 0, r)->newest_sent, 8);
        }
        assert_true(fl_ledger_deadline(s.ledger) == FL_FOREVER); // nothing is left to say
        fl_ledger_destroy(s.ledger);
    }
}

static void what_was_lost_goes_again_at_a_frame(void **state)
{
    (void)state;
    Stage s;
    FlSend send = fl_send_make(FL_SEND_FOCUS_EQUAL);
    open_stage(&s, &send, 1, 1);
    uint64_t to;
    export(&s, 0, 0.0, 1);
    (void)frame(&s, 1e6, &to);
    export(&s, 0, 1.0, 1);
    s.now += FL_MS(50);
    fl_ledger_update(s.ledger, s.now);
    FlDue due;
    assert_true(fl_ledger_due(s.ledger, 4, 0, &due));
    fl_ledger_sent(s.ledger, 4, due, s.now);
    (void)send_due(&s, &to);
    assert_int_equal(to & fl__bit(4), 0);
    fl_ledger_lost(s.ledger, 4, due, s.now);
    assert_false(fl_ledger_due(s.ledger, 4, 0, &due)); // not before the frame
    assert_int_equal(frame(&s, 1e6, &to), 1);
    assert_int_equal(to, fl__bit(4));
    assert_int_equal(frame(&s, 1e6, &to), 0);
    fl_ledger_destroy(s.ledger);
}

// ---------------------------------------------------------------- against brute force

static double cost_of(int32_t entity)
{
    return 12.0 + 7.0 * entity + HEADER;
}

// By sorting: the highest keys first, of equals the first in order.
static uint64_t brute(const Stage *s, double bytes, double *spent)
{
    bool taken[ENTITIES][RECEIVERS] = {{false}};
    uint64_t chosen = 0;
    *spent = 0.0;
    for (;;) {
        int32_t best_e = -1;
        int32_t best_r = -1;
        uint32_t best = 0;
        for (int32_t e = 0; e < ENTITIES; e++) {
            for (int32_t r = 0; r < RECEIVERS; r++) {
                uint32_t key = s->ledger->keys[fl__pair_number(s->ledger, e, r)];
                if (!taken[e][r] && key > best) {
                    best = key;
                    best_e = e;
                    best_r = r;
                }
            }
        }
        if (best_e < 0 || *spent + cost_of(best_e) > bytes) {
            return chosen;
        }
        taken[best_e][best_r] = true;
        chosen |= fl__bit(best_e * RECEIVERS + best_r);
        *spent += cost_of(best_e);
    }
}

static void the_most_urgent_are_found_without_sorting(void **state)
{
    (void)state;
    FlSend send = fl_send_make(FL_SEND_FOCUS_EQUAL);
    Stage s;
    open_stage(&s, &send, ENTITIES, 3);
    for (int32_t e = 0; e < ENTITIES; e++) {
        fl__ledger_update_bytes(s.ledger, e, 12 + 7 * e);
    }
    for (int32_t n = 0; n < CASES(2000); n++) {
        uint64_t kind = fl_random_below(&s.random, 4);
        for (int32_t i = 0; i < ENTITIES * RECEIVERS; i++) {
            uint64_t key = fl_random_next(&s.random);
            // all different, or only the low bits, so that every digit decides sometimes
            key = kind == 0   ? key >> 32
                  : kind == 1 ? key >> 50
                  : kind == 2 ? key >> 58
                              : key & ~0xffu;
            s.ledger->keys[i] = (uint32_t)key;
        }
        double bytes = fl_random_between(&s.random, 0.0, 5000.0);
        fl__ledger_allow(s.ledger, bytes, HEADER);
        double want_spent;
        uint64_t want = brute(&s, bytes, &want_spent);
        memset(s.ledger->due, 0, RECEIVERS * sizeof(uint64_t));
        double spent = fl__select(s.ledger, FL_SEND_FOCUS_EQUAL, bytes);
        uint64_t got = 0;
        for (int32_t r = 0; r < RECEIVERS; r++) {
            for (int32_t e = 0; e < ENTITIES; e++) {
                got |= (s.ledger->due[r] >> e & 1u) != 0 ? fl__bit(e * RECEIVERS + r) : 0;
            }
        }
        assert_true(spent <= bytes + 1e-9);
        // What is chosen in order is chosen; among equals at the end a cheaper one may still fit.
        assert_int_equal(got & want, want);
        assert_true(spent >= want_spent - 1e-9);
    }
    fl_ledger_destroy(s.ledger);
}

// Whatever happens: no frame plans more than it may, and everybody hears of everything in time.
static void no_frame_plans_more_than_it_may_and_nobody_starves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)CASES(60); seed++) {
        Stage s;
        FlSend send =
            seed % 2 == 0 ? fl_send_make(FL_SEND_FOCUS) : fl_send_make(FL_SEND_FOCUS_EQUAL);
        open_stage(&s, &send, ENTITIES, seed);
        FlTime heard[ENTITIES][RECEIVERS] = {{0}};
        FlTime longest = 0;
        for (int32_t i = 0; i < 400; i++) {
            for (int32_t e = 0; e < ENTITIES; e++) {
                double step = fl_random_between(&s.random, -5.0, 5.0);
                export(&s, e, step, 1);
                int32_t r = (int32_t)fl_random_below(&s.random, RECEIVERS);
                fl__ledger_attention(s.ledger, e, r, fl_random_between(&s.random, 0.0, 1.0));
            }
            // 3 to 9 updates of 64 bytes a frame, for 60 pairs: all in a second, if in turn
            double bytes = fl_random_between(&s.random, 3.0, 9.0) * 64.0;
            s.now += FL_MS(50);
            fl__ledger_allow(s.ledger, bytes, HEADER);
            fl_ledger_update(s.ledger, s.now);
            double spent = 0.0;
            FlDue due;
            for (int32_t r = 0; r < RECEIVERS; r++) {
                for (int32_t e = 0; fl_ledger_due(s.ledger, r, e, &due); e = due.entity + 1) {
                    fl_ledger_sent(s.ledger, r, due, s.now);
                    spent += 64.0;
                    heard[due.entity][r] = s.now;
                }
            }
            assert_true(spent <= bytes + 1e-9);
            for (int32_t k = 0; k < ENTITIES * RECEIVERS; k++) {
                FlTime wait = s.now - heard[k / RECEIVERS][k % RECEIVERS];
                longest = wait > longest ? wait : longest;
            }
        }
        assert_true(longest <= (seed % 2 == 0 ? FL_SEC(4) : FL_MS(1250)));
        fl_ledger_destroy(s.ledger);
    }
}

// The longest that one of twelve receivers was without an update, three of them going in a frame.
static FlTime longest_wait(FlTime chosen_ns, double attention)
{
    Stage s;
    FlSend send = fl_send_make(FL_SEND_FOCUS_EQUAL);
    send.starvation_ns = FL_SEC(60); // no others come before it
    open_stage(&s, &send, 1, 5);
    FlFocusDef def = fl__focus_def_default();
    def.base = 1.0;
    def.chosen_ns = chosen_ns;
    assert_int_equal(fl__ledger_focus(s.ledger, &def), FL_OK);
    fl__ledger_update_bytes(s.ledger, 0, 20);
    fl__ledger_attention(s.ledger, 0, 7, attention);
    uint64_t to;
    export(&s, 0, 0.0, 1);
    (void)frame(&s, 1e6, &to);
    FlTime got = s.now;
    FlTime longest = 0;
    for (int32_t i = 0; i < 200; i++) {
        export(&s, 0, fl_random_between(&s.random, -50.0, 50.0), 1);
        assert_int_equal(frame(&s, 185.0, &to), 3);
        got = (to & fl__bit(7)) != 0 ? s.now : got;
        longest = fl__time_max(longest, fl_span(s.now, got));
    }
    fl_ledger_destroy(s.ledger);
    return longest;
}

static void who_chose_an_entity_waits_no_longer_than_asked(void **state)
{
    (void)state;
    assert_int_equal(longest_wait(FL_MS(90), 0.5), FL_MS(50));
    assert_int_equal(longest_wait(FL_MS(140), 1.0), FL_MS(100));
    assert_true(longest_wait(FL_MS(90), 0.45) > FL_MS(150)); // it did not choose
    assert_true(longest_wait(0, 0.5) > FL_MS(150));
}

static void attention_is_kept_in_steps_and_nonsense_is_none(void **state)
{
    (void)state;
    Stage s;
    FlSend send = fl_send_make(FL_SEND_BASE);
    open_stage(&s, &send, 1, 1);
    const double said[5] = {0.5, 2.0, -1.0, (double)NAN, 1.0 / 255.0};
    const double kept[5] = {128.0 / 255.0, 1.0, 0.0, 0.0, 1.0 / 255.0};
    for (int32_t i = 0; i < 5; i++) {
        fl__ledger_attention(s.ledger, 0, 2, said[i]);
        assert_true(fl__ledger_attention_of(s.ledger, 0, 2) == kept[i]);
    }
    assert_int_equal(fl__ledger_class(s.ledger, 0, 2), FL_CLASS_FOCUS); // under base all are
    fl_ledger_receiver_end(s.ledger, 2);
    assert_true(fl__ledger_attention_of(s.ledger, 0, 2) == 0.0);
    FlFocusDef bad = {.frame_ns = 0, .share = 0.5};
    assert_int_equal(fl__ledger_focus(s.ledger, &bad), FL_BAD_VALUE);
    fl_ledger_destroy(s.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_n_who_look_most_get_every_update),
        cmocka_unit_test(a_part_of_one_in_focus_counts_at_later_frames),
        cmocka_unit_test(who_does_not_look_is_never_in_focus),
        cmocka_unit_test(too_few_bytes_for_one_update_are_credit_for_the_next_frame),
        cmocka_unit_test(a_new_life_goes_to_everybody_first),
        cmocka_unit_test(what_was_lost_goes_again_at_a_frame),
        cmocka_unit_test(the_most_urgent_are_found_without_sorting),
        cmocka_unit_test(no_frame_plans_more_than_it_may_and_nobody_starves),
        cmocka_unit_test(who_chose_an_entity_waits_no_longer_than_asked),
        cmocka_unit_test(attention_is_kept_in_steps_and_nonsense_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
