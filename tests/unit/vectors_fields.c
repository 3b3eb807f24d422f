// spec/vectors/fields.json: a kind of entities, its KIND messages and GROUPS of its fields, for
// decoders in other languages. The Python test test_field_vectors.py reads it with a decoder
// written from spec/WIRE.md alone (sections 7.16 and 8.14).
#include "vectors.h"

#include "entity/fields.h"

enum { ROWS = 24, SORT = 5 };

static const FlFieldDef SAMPLE[] = {
    {.name = "health", .type = FL_FIELD_INT, .low = -10, .high = 100},
    {.name = "heat", .type = FL_FIELD_REAL, .low = -1.0, .high = 1.0, .step = 0.03, .group = 1},
    {.name = "flags", .type = FL_FIELD_BITS, .size = 13, .group = 2},
    {.name = "turret", .type = FL_FIELD_ANGLE, .size = 11, .group = 1},
    {.name = "title", .type = FL_FIELD_BYTES, .size = 9, .group = 0},
    {.name = "far",
     .type = FL_FIELD_INT,
     .low = -4503599627370496.0,
     .high = 4503599627370496.0,
     .group = 2},
};
enum { FIELDS = sizeof SAMPLE / sizeof SAMPLE[0] };

static FieldLayout sample_layout(void)
{
    FlKindDef def = {.name = "sample",
                     .version = 513,
                     .fields = SAMPLE,
                     .field_count = FIELDS,
                     .private_groups = 4};
    FieldLayout layout;
    int32_t field;
    assert_null(fl__layout_init(&def, &layout, &field));
    return layout;
}

static void say_kind(Text *text, const FieldLayout *layout)
{
    static const char *const TYPES[] = {"int", "real", "bits", "angle", "bytes"};
    say(text, "\"kind\": {\"name\": \"sample\", \"version\": 513, \"private_groups\": 4, ");
    say(text, "\"fields\": [\n");
    for (int32_t i = 0; i < FIELDS; i++) {
        const FlFieldDef *def = &SAMPLE[i];
        say(text, "%s {\"name\": \"%s\", \"type\": \"%s\", \"group\": %d, \"size\": %d",
            i == 0 ? "" : ",\n", def->name, TYPES[def->type], def->group, def->size);
        say_named(text, "low", def->low);
        say_named(text, "high", def->high);
        say_named(text, "step", def->step);
        say(text, "}");
    }
    say(text, "]},\n\"messages\": [");
    for (int32_t reply = 0; reply < 2; reply++) {
        uint8_t bytes[320];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__kind_message_write(&w, SORT, reply == 1, layout);
        say(text, "%s{\"sort\": %d, \"reply\": %d, ", reply == 0 ? "" : ",\n ", SORT, reply);
        say_hex(text, "bytes", bytes, fl_writer_size(&w));
        say(text, "}");
    }
    say(text, "],\n");
}

static FlValue random_value(FlRandom *r, int32_t field, bool most, uint8_t bytes[16])
{
    const FlFieldDef *def = &SAMPLE[field];
    FlValue value = {.bytes = bytes};
    double share = most ? 1.0 : fl__random_unit(r);
    value.integer = def->type == FL_FIELD_BITS
                        ? (int64_t)(most ? (1u << def->size) - 1u
                                         : fl_random_below(r, UINT64_C(1) << def->size))
                        : (int64_t)(def->low + share * (def->high - def->low));
    value.real = def->type == FL_FIELD_ANGLE ? fl_random_between(r, -3.0, 3.0)
                                             : def->low + share * (def->high - def->low);
    value.count = most ? def->size : (int32_t)fl_random_below(r, (uint64_t)def->size + 1);
    for (int32_t i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)fl_random_next(r);
    }
    return value;
}

static void say_value(Text *text, const FieldLayout *layout, const uint8_t *packed, int32_t field)
{
    uint8_t bytes[FL_FIELDS_BYTES];
    FlValue value = fl__field_get(layout, packed, field, bytes);
    FlFieldType type = SAMPLE[field].type;
    if (type == FL_FIELD_INT || type == FL_FIELD_BITS) {
        say(text, ", \"%s\": %lld", SAMPLE[field].name, (long long)value.integer);
    } else if (type == FL_FIELD_BYTES) {
        say(text, ", ");
        say_hex(text, SAMPLE[field].name, value.bytes, value.count);
    } else {
        say_named(text, SAMPLE[field].name, value.real);
    }
}

static int32_t write_row(const FieldLayout *layout, int32_t row, uint8_t packed[FL_FIELDS_BYTES],
                         uint8_t wire[256], uint32_t *mask)
{
    FlRandom r = random_stream(9800 + (uint64_t)row);
    fl__fields_clear(layout, packed);
    for (int32_t i = 0; i < FIELDS; i++) {
        uint8_t bytes[16];
        bool changed;
        FlValue value = random_value(&r, i, row == ROWS - 1, bytes);
        assert_true(fl__field_set(layout, packed, i, &value, &changed));
    }
    *mask = row == ROWS - 1 ? 7u : 1u + (uint32_t)row % 7u;
    FlWriter w;
    fl_writer_init(&w, wire, 256);
    fl__groups_write(layout, packed, *mask, &w);
    assert_false(w.failed);
    return fl_writer_size(&w);
}

static void say_refused(Text *text, const FieldLayout *layout, const uint8_t *wire, int32_t count,
                        const char *why)
{
    uint8_t packed[FL_FIELDS_BYTES];
    fl__fields_clear(layout, packed);
    FlReader reader;
    uint32_t mask;
    fl_reader_init(&reader, wire, count);
    bool read = fl__groups_read(layout, &reader, &mask, packed) && fl_reader_left(&reader) == 0;
    assert_false(read);
    say(text, "%s{", text->at[-1] == '[' ? "" : ",\n ");
    say_hex(text, "bytes", wire, count);
    say(text, ", \"why\": \"%s\"}", why);
}

static void say_all_refused(Text *text, const FieldLayout *layout)
{
    uint8_t packed[FL_FIELDS_BYTES], wire[256];
    uint32_t mask;
    int32_t count = write_row(layout, 6, packed, wire, &mask);
    for (int32_t cut = 0; cut < count; cut++) {
        say_refused(text, layout, wire, cut, "ends too early");
    }
    wire[count] = 0;
    say_refused(text, layout, wire, count + 1, "a byte too many");
    wire[0] &= 0xf8u;
    say_refused(text, layout, wire, count, "no group");
    count = write_row(layout, 0, packed, wire, &mask);
    wire[0] = (uint8_t)(1u | 111u << 3); // one above the highest, in 7 bits from bit 3 on
    wire[1] = (uint8_t)((wire[1] & ~3u) | 111u >> 5);
    say_refused(text, layout, wire, count, "an index beyond the last");
    count = write_row(layout, 1, packed, wire, &mask);
    wire[count - 1] |= 0x80u;
    say_refused(text, layout, wire, count, "bits set in the padding");
}

void vectors_fields(Text *text)
{
    FieldLayout layout = sample_layout();
    say(text, "{\"about\": \"A kind of entities, its KIND messages, and GROUPS of its fields; see "
              "spec/WIRE.md sections 7.16 and 8.14.\",\n");
    say_kind(text, &layout);
    say(text, "\"groups\": [");
    for (int32_t row = 0; row < ROWS; row++) {
        uint8_t packed[FL_FIELDS_BYTES], wire[256];
        uint32_t mask;
        int32_t count = write_row(&layout, row, packed, wire, &mask);
        say(text, "%s{\"mask\": %u", row == 0 ? "" : ",\n ", mask);
        for (int32_t i = 0; i < FIELDS; i++) {
            if ((mask >> SAMPLE[i].group & 1u) != 0) {
                say_value(text, &layout, packed, i);
            }
        }
        say(text, ", ");
        say_hex(text, "bytes", wire, count);
        say(text, "}");
    }
    say(text, "],\n\"refused\": [");
    say_all_refused(text, &layout);
    say(text, "]}\n");
}
