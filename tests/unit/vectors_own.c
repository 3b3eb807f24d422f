// spec/vectors/own.json: sections OWN, the state of what the receiver plays, for decoders in other
// languages. The Python test test_own_vectors.py reads it with a decoder written from spec/WIRE.md
// alone (section 7.15).
#include "vectors.h"

#include "packet/kinds.h"
#include "play/own.h"

#include "fairlead/predict.h"

enum { ROWS = 12, STATE_MOST = FL_PREDICT_STATE_BYTES, SECTION_MOST = 16 + STATE_MOST };

static const int32_t COUNTS[ROWS] = {1, 2, 16, 28, 100, STATE_MOST, 7, 8, 9, 33, 64, 128};

static OwnSection make_row(int32_t row, uint8_t state[STATE_MOST])
{
    FlRandom r = random_stream(9900 + (uint64_t)row);
    OwnSection own = {.low = fl_random_below(&r, UINT64_C(1) << 32),
                      .missed = (uint8_t)fl_random_below(&r, 256),
                      .late_tick = (int16_t)((int32_t)fl_random_below(&r, 400) - 200),
                      .late = (int16_t)((int32_t)fl_random_below(&r, 8000) - 4000),
                      .count = COUNTS[row],
                      .bytes = state};
    if (row == 1) { // no input came
        own.late_tick = 0;
        own.late = INT16_MIN;
    } else if (row == 2) {
        own.low = UINT32_MAX;
        own.late_tick = -INT16_MAX;
        own.late = INT16_MAX;
    }
    for (int32_t i = 0; i < own.count; i++) {
        state[i] = (uint8_t)fl_random_next(&r);
    }
    return own;
}

static int32_t write_row(int32_t row, uint8_t bytes[SECTION_MOST])
{
    uint8_t state[STATE_MOST];
    OwnSection own = make_row(row, state);
    FlWriter w;
    fl_writer_init(&w, bytes, SECTION_MOST);
    fl_writer_put(&w, SECTION_OWN, 8);
    fl__own_write(&w, &own);
    assert_false(w.failed);
    return fl_writer_size(&w);
}

static void say_row(Text *text, int32_t row)
{
    uint8_t state[STATE_MOST], bytes[SECTION_MOST];
    OwnSection own = make_row(row, state);
    int32_t count = write_row(row, bytes);
    say(text, "%s{\"tick\": %llu, \"missed\": %d, \"late_tick\": %d, \"late\": %d, ",
        row == 0 ? "" : ",\n ", (unsigned long long)own.low, own.missed, own.late_tick, own.late);
    say_hex(text, "state", own.bytes, own.count);
    say(text, ", ");
    say_hex(text, "bytes", bytes, count);
    say(text, "}");
}

static void say_refused(Text *text, const uint8_t *bytes, int32_t count, const char *why)
{
    FlReader r;
    OwnSection own;
    fl_reader_init(&r, bytes, count);
    bool read = fl_reader_take(&r, 8) == SECTION_OWN && fl__own_read(&r, &own) && !r.failed &&
                fl_reader_left(&r) == 0;
    assert_false(read);
    say(text, "%s{", text->at[-1] == '[' ? "" : ",\n ");
    say_hex(text, "bytes", bytes, count);
    say(text, ", \"why\": \"%s\"}", why);
}

void vectors_own(Text *text)
{
    say(text, "{\"wire_version\": %u,\n\"sections\": [", FL_WIRE_VERSION);
    for (int32_t row = 0; row < ROWS; row++) {
        say_row(text, row);
    }
    say(text, "],\n\"refused\": [");
    uint8_t bytes[SECTION_MOST];
    int32_t count = write_row(3, bytes);
    for (int32_t cut = 0; cut < count; cut += 5) {
        say_refused(text, bytes, cut, "ends too early");
    }
    bytes[10] = bytes[11] = 0;
    say_refused(text, bytes, 12, "no state");
    bytes[10] = 0xe9; // 1001
    bytes[11] = 0x03;
    say_refused(text, bytes, count, "too long a state");
    count = write_row(1, bytes);
    bytes[6] = 1;
    say_refused(text, bytes, count, "none came, and yet of a tick");
    say(text, "]}\n");
}
