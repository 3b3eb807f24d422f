// Fields as bits: what is set is read back, by every receiver of its group and by no other; every
// truncation is refused, and so is every other encoding of the same values.
#include "support.h"

#include "wire/fields.h"

#include <math.h>
#include <stdio.h>

typedef struct Sample {
    FlFieldDef fields[FL_FIELDS];
    char names[FL_FIELDS][8];
    FlKindDef def;
    FieldLayout layout;
} Sample;

static void random_def(FlRandom *r, int32_t i, FlFieldDef *def)
{
    def->type = (FlFieldType)fl_random_below(r, 5);
    def->low = (double)fl_random_below(r, 2000) - 1000.0;
    def->high = def->low + (double)fl_random_below(r, 1000);
    def->step = def->type == FL_FIELD_REAL ? fl_random_between(r, 0.01, 2.0) : 0.0;
    static const int32_t LONGEST[] = {0, 0, 64, 30, 12};
    def->size =
        LONGEST[def->type] > 0 ? 1 + (int32_t)fl_random_below(r, (uint64_t)LONGEST[def->type]) : 0;
    def->group = (uint8_t)(i < 4 ? i : (int32_t)fl_random_below(r, 4));
}

// A kind of 1 to 20 fields in up to 4 groups.
static void random_kind(FlRandom *r, Sample *sample)
{
    memset(sample, 0, sizeof *sample);
    int32_t count = 1 + (int32_t)fl_random_below(r, 20);
    for (int32_t i = 0; i < count; i++) {
        random_def(r, i, &sample->fields[i]);
        (void)snprintf(sample->names[i], sizeof sample->names[i], "f%d", i);
        sample->fields[i].name = sample->names[i];
        sample->fields[i].group =
            count < 4 ? (uint8_t)i : sample->fields[i].group; // none is left out
    }
    sample->def.name = "sample";
    sample->def.fields = sample->fields;
    sample->def.field_count = count;
    int32_t field;
    assert_null(fl__layout_init(&sample->def, &sample->layout, &field));
}

static FlValue random_value(FlRandom *r, const FlFieldDef *def, uint8_t bytes[16])
{
    FlValue value = {0};
    switch (def->type) {
    case FL_FIELD_INT:
        value.integer =
            (int64_t)def->low + (int64_t)fl_random_below(r, (uint64_t)(def->high - def->low) + 1);
        break;
    case FL_FIELD_REAL:
        value.real = fl_random_between(r, def->low, def->high);
        break;
    case FL_FIELD_BITS:
        value.integer = (int64_t)(fl_random_next(r) >> (64 - def->size));
        break;
    case FL_FIELD_ANGLE:
        value.real = fl_random_between(r, -10.0, 10.0);
        break;
    default:
        value.count = (int32_t)fl_random_below(r, (uint64_t)def->size + 1);
        value.bytes = bytes;
        for (int32_t i = 0; i < value.count; i++) {
            bytes[i] = (uint8_t)fl_random_next(r);
        }
        break;
    }
    return value;
}

static void assert_reads(const Sample *sample, const uint8_t *packed, int32_t field,
                         const FlValue *value)
{
    const FlFieldDef *def = &sample->fields[field];
    uint8_t bytes[FL_FIELDS_BYTES];
    FlValue got = fl__field_get(&sample->layout, packed, field, bytes);
    if (def->type == FL_FIELD_INT || def->type == FL_FIELD_BITS) {
        assert_true(got.integer == value->integer);
    } else if (def->type == FL_FIELD_REAL) {
        assert_true(fabs(got.real - value->real) <= 0.5 * def->step * (1.0 + 1e-9));
    } else if (def->type == FL_FIELD_ANGLE) {
        double off = fabs(fl_angle_wrap(got.real - value->real));
        assert_true(off <= FL_PI / (double)(1u << def->size) * (1.0 + 1e-9));
    } else {
        assert_int_equal(got.count, value->count);
        assert_true(value->count == 0 ||
                    memcmp(got.bytes, value->bytes, (size_t)value->count) == 0);
    }
}

static void fill(FlRandom *r, const Sample *sample, uint8_t packed[FL_FIELDS_BYTES])
{
    fl__fields_clear(&sample->layout, packed);
    for (int32_t i = 0; i < sample->def.field_count; i++) {
        uint8_t bytes[16];
        FlValue value = random_value(r, &sample->fields[i], bytes);
        bool changed;
        assert_true(fl__field_set(&sample->layout, packed, i, &value, &changed));
        assert_reads(sample, packed, i, &value);
        assert_true(fl__field_set(&sample->layout, packed, i, &value, &changed));
        assert_false(changed); // it is the same
    }
}

static void what_is_set_arrives_by_groups_and_nothing_else_changes(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    for (int32_t n = 0; n < CASES(4000); n++) {
        Sample sample;
        random_kind(&r, &sample);
        uint8_t from[FL_FIELDS_BYTES], to[FL_FIELDS_BYTES], want[FL_FIELDS_BYTES], wire[256];
        fill(&r, &sample, from);
        fill(&r, &sample, to);
        memcpy(want, to, sizeof want);
        uint32_t all = fl__layout_groups(&sample.layout);
        uint32_t mask = 1u + (uint32_t)fl_random_below(&r, all);
        fl__groups_copy(&sample.layout, mask, from, want);
        FlWriter w;
        fl_writer_init(&w, wire, sizeof wire);
        fl__groups_write(&sample.layout, from, mask, &w);
        assert_false(w.failed);
        assert_int_equal(fl_writer_size(&w), fl__groups_bytes(&sample.layout, from, mask));
        FlReader reader;
        uint32_t got;
        fl_reader_init(&reader, wire, fl_writer_size(&w));
        assert_true(fl__groups_read(&sample.layout, &reader, &got, to));
        assert_int_equal(fl_reader_left(&reader), 0);
        assert_int_equal(got, mask);
        assert_memory_equal(to, want, sizeof to);
        for (int32_t cut = 0; cut < fl_writer_size(&w); cut++) {
            fl_reader_init(&reader, wire, cut);
            assert_false(fl__groups_read(&sample.layout, &reader, &got, to));
        }
    }
}

static void one_value_has_one_encoding(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    int64_t sound = 0;
    for (int32_t n = 0; n < CASES(20000); n++) {
        Sample sample;
        random_kind(&r, &sample);
        uint8_t packed[FL_FIELDS_BYTES], wire[64], again[256];
        fl__fields_clear(&sample.layout, packed);
        for (size_t i = 0; i < sizeof wire; i++) {
            wire[i] = (uint8_t)fl_random_next(&r);
        }
        FlReader reader;
        uint32_t mask;
        fl_reader_init(&reader, wire, sizeof wire);
        if (!fl__groups_read(&sample.layout, &reader, &mask, packed)) {
            continue;
        }
        FlWriter w;
        fl_writer_init(&w, again, sizeof again);
        fl__groups_write(&sample.layout, packed, mask, &w);
        assert_int_equal(fl_writer_size(&w) * 8, reader.bit_count);
        assert_memory_equal(again, wire, (size_t)fl_writer_size(&w));
        sound++;
    }
    assert_true(sound > 20);
}

static bool sets(const FieldLayout *layout, int32_t field, FlValue value)
{
    uint8_t packed[FL_FIELDS_BYTES];
    bool changed;
    fl__fields_clear(layout, packed);
    return fl__field_set(layout, packed, field, &value, &changed);
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    const FlFieldDef fields[] = {
        {.name = "int", .type = FL_FIELD_INT, .low = -3, .high = 3},
        {.name = "real", .type = FL_FIELD_REAL, .low = 0.0, .high = 1.0, .step = 0.1},
        {.name = "bits", .type = FL_FIELD_BITS, .size = 3},
        {.name = "angle", .type = FL_FIELD_ANGLE, .size = 8},
        {.name = "bytes", .type = FL_FIELD_BYTES, .size = 4},
        {.name = "far",
         .type = FL_FIELD_INT,
         .low = -9007199254740992.0,
         .high = 9007199254740992.0},
    };
    FlKindDef def = {.name = "k", .fields = fields, .field_count = 6};
    FieldLayout layout;
    int32_t field;
    assert_null(fl__layout_init(&def, &layout, &field));
    assert_true(sets(&layout, 0, (FlValue){.integer = -3}));
    assert_false(sets(&layout, 0, (FlValue){.integer = -4}));
    assert_false(sets(&layout, 0, (FlValue){.integer = 4}));
    assert_false(sets(&layout, 0, (FlValue){.integer = INT64_MIN}));
    assert_true(sets(&layout, 1, (FlValue){.real = 1.04}));
    assert_false(sets(&layout, 1, (FlValue){.real = 1.06}));
    assert_false(sets(&layout, 1, (FlValue){.real = (double)NAN}));
    assert_false(sets(&layout, 2, (FlValue){.integer = 8}));
    assert_false(sets(&layout, 2, (FlValue){.integer = -1}));
    assert_false(sets(&layout, 3, (FlValue){.real = (double)INFINITY}));
    assert_false(sets(&layout, 4, (FlValue){.bytes = (const uint8_t *)"abcde", .count = 5}));
    assert_false(sets(&layout, 4, (FlValue){.bytes = (const uint8_t *)"", .count = -1}));
    assert_true(sets(&layout, 5, (FlValue){.integer = INT64_C(9007199254740992)}));
    assert_false(sets(&layout, 5, (FlValue){.integer = INT64_MAX}));
}

static const char *problem(FlFieldDef field, int32_t count)
{
    FlFieldDef fields[FL_FIELDS + 1];
    for (int32_t i = 0; i <= FL_FIELDS; i++) {
        fields[i] = field;
    }
    FlKindDef def = {.name = "k", .fields = fields, .field_count = count};
    FieldLayout layout;
    int32_t at;
    return fl__layout_init(&def, &layout, &at);
}

static void definitions_that_cannot_be_are_refused_in_words(void **state)
{
    (void)state;
    FlFieldDef good = {.name = "x", .type = FL_FIELD_INT, .high = 3};
    assert_null(problem(good, 1));
    assert_null(problem(good, FL_FIELDS));
    assert_non_null(problem(good, 0));
    assert_non_null(problem(good, FL_FIELDS + 1));
    FlFieldDef bad[] = {
        {.type = FL_FIELD_INT},
        {.name = "a name that is longer than a name may be", .type = FL_FIELD_INT},
        {.name = "x", .type = (FlFieldType)7},
        {.name = "x", .type = FL_FIELD_INT, .low = 1, .high = 0},
        {.name = "x", .type = FL_FIELD_INT, .low = 0.5, .high = 1.5},
        {.name = "x", .type = FL_FIELD_INT, .high = 1e300},
        {.name = "x", .type = FL_FIELD_REAL, .high = 1.0},
        {.name = "x", .type = FL_FIELD_REAL, .high = (double)NAN, .step = 1.0},
        {.name = "x", .type = FL_FIELD_REAL, .high = 1e10, .step = 1.0},
        {.name = "x", .type = FL_FIELD_BITS, .size = 65},
        {.name = "x", .type = FL_FIELD_ANGLE, .size = 31},
        {.name = "x", .type = FL_FIELD_BYTES, .size = 0},
        {.name = "x", .type = FL_FIELD_BYTES, .size = 201},
        {.name = "x", .type = FL_FIELD_INT, .high = 1, .group = 1}, // none has a field in group 0
        {.name = "x", .type = FL_FIELD_INT, .high = 1, .group = 32},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_non_null(problem(bad[i], 1));
    }
    FlFieldDef long_one = {.name = "x", .type = FL_FIELD_BYTES, .size = 200};
    assert_non_null(problem(long_one, 2)); // more than 240 bytes in all
}

static void any_difference_between_two_definitions_shows_in_the_hash(void **state)
{
    (void)state;
    FlFieldDef field = {.name = "x", .type = FL_FIELD_REAL, .high = 4, .step = 0.5};
    FlKindDef def = {.name = "k", .fields = &field, .field_count = 1};
    FieldLayout first, other;
    int32_t at;
    assert_null(fl__layout_init(&def, &first, &at));
    FlFieldDef fields[] = {
        {.name = "y", .type = FL_FIELD_REAL, .high = 4, .step = 0.5},
        {.name = "x", .type = FL_FIELD_INT, .high = 8},
        {.name = "x", .type = FL_FIELD_REAL, .high = 4.5, .step = 0.5},
        {.name = "x", .type = FL_FIELD_REAL, .low = 1, .high = 5, .step = 0.5},
        {.name = "x", .type = FL_FIELD_REAL, .high = 2, .step = 0.25},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        def.fields = &fields[i];
        assert_null(fl__layout_init(&def, &other, &at));
        assert_true(other.hash != first.hash && other.field[0].hash != first.field[0].hash);
    }
    def.fields = &field;
    def.version = 1;
    assert_null(fl__layout_init(&def, &other, &at));
    assert_true(other.hash != first.hash && other.field[0].hash == first.field[0].hash);
    def.version = 0;
    def.private_groups = 1;
    assert_null(fl__layout_init(&def, &other, &at));
    assert_true(other.hash != first.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_arrives_by_groups_and_nothing_else_changes),
        cmocka_unit_test(one_value_has_one_encoding),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(definitions_that_cannot_be_are_refused_in_words),
        cmocka_unit_test(any_difference_between_two_definitions_shows_in_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
