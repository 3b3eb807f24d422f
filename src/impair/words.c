// The words for settings, shared by command lines and schedules, and the reading of their values.
//
// Numbers are decimal, without sign or exponent, and are read into whole millionths: a millionth of
// a millisecond is a nanosecond, so "0.1" means exactly 100 000 ns everywhere, and no locale has a
// say.
#include "private.h"

#include <string.h>

typedef enum Unit {
    UNIT_MS,
    UNIT_PERCENT,
    UNIT_SHARE,
    UNIT_KBIT_S,
    UNIT_BYTES,
    UNIT_SHAPE,
    UNIT_SWITCH,
} Unit;

typedef struct Setting {
    const char *word;
    Unit unit;
} Setting;

typedef enum SettingId {
    SETTING_DELAY,
    SETTING_JITTER,
    SETTING_DISTRIBUTION,
    SETTING_CORRELATION,
    SETTING_CORRELATION_LAG,
    SETTING_KEEP_ORDER,
    SETTING_LOSS,
    SETTING_BURST_GAP,
    SETTING_BURST_LENGTH,
    SETTING_BURST_LOSS,
    SETTING_DUPLICATE,
    SETTING_RATE,
    SETTING_QUEUE,
    SETTING_EXTRA,
    SETTING_COUNT,
} SettingId;

static const Setting setting_table[SETTING_COUNT] = {
    [SETTING_DELAY] = {"delay", UNIT_MS},
    [SETTING_JITTER] = {"jitter", UNIT_MS},
    [SETTING_DISTRIBUTION] = {"distribution", UNIT_SHAPE},
    [SETTING_CORRELATION] = {"correlation", UNIT_SHARE},
    [SETTING_CORRELATION_LAG] = {"correlation-lag", UNIT_MS},
    [SETTING_KEEP_ORDER] = {"keep-order", UNIT_SWITCH},
    [SETTING_LOSS] = {"loss", UNIT_PERCENT},
    [SETTING_BURST_GAP] = {"burst-gap", UNIT_MS},
    [SETTING_BURST_LENGTH] = {"burst-length", UNIT_MS},
    [SETTING_BURST_LOSS] = {"burst-loss", UNIT_PERCENT},
    [SETTING_DUPLICATE] = {"duplicate", UNIT_PERCENT},
    [SETTING_RATE] = {"rate", UNIT_KBIT_S},
    [SETTING_QUEUE] = {"queue", UNIT_MS},
    [SETTING_EXTRA] = {"extra", UNIT_BYTES},
};

static const char *const shape_names[] = {"constant", "uniform", "normal", "pareto",
                                          "paretonormal"};

bool fl__words_equal(Words words, const char *text)
{
    return strlen(text) == words.bytes && memcmp(words.text, text, words.bytes) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool fl__words_number(Words words, int64_t *millionths)
{
    int64_t value = 0;
    int32_t whole_count = 0;
    int32_t part_count = 0;
    bool after_point = false;
    for (size_t i = 0; i < words.bytes; i++) {
        char c = words.text[i];
        if (c == '.' && !after_point) {
            after_point = true;
            continue;
        }
        int32_t *count = after_point ? &part_count : &whole_count;
        if (!is_digit(c) || ++*count > (after_point ? 6 : 12)) {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    if (whole_count + part_count == 0) {
        return false;
    }
    for (int32_t i = part_count; i < 6; i++) {
        value *= 10;
    }
    *millionths = value;
    return true;
}

int32_t fl__setting_find(Words word)
{
    for (int32_t i = 0; i < SETTING_COUNT; i++) {
        if (fl__words_equal(word, setting_table[i].word)) {
            return i;
        }
    }
    return -1;
}

static bool read_shape(Words value, int64_t *stored, FlImpairError *error)
{
    for (size_t i = 0; i < sizeof shape_names / sizeof shape_names[0]; i++) {
        if (fl__words_equal(value, shape_names[i])) {
            *stored = (int64_t)i;
            return true;
        }
    }
    (void)fl__impair_wrong(error,
                           "the distribution is constant, uniform, normal, pareto or paretonormal");
    return false;
}

static bool read_switch(const char *word, Words value, int64_t *stored, FlImpairError *error)
{
    *stored = fl__words_equal(value, "on");
    if (*stored == 0 && !fl__words_equal(value, "off")) {
        (void)fl__impair_wrong_about(error, "", (Words){word, strlen(word)}, " is on or off");
        return false;
    }
    return true;
}

// From millionths of the unit written to the unit stored. All are exact but the rate, which rounds
// down to bytes.
static int64_t stored_from(Unit unit, int64_t millionths)
{
    switch (unit) {
    case UNIT_PERCENT:
        return millionths / 100; // 1 percent is 10 000 ppm
    case UNIT_KBIT_S:
        return millionths / 8000; // 1 kbit/s is 125 bytes/s
    case UNIT_BYTES:
        return millionths / 1000000;
    case UNIT_MS:
    case UNIT_SHARE:
    case UNIT_SHAPE:
    case UNIT_SWITCH:
        break;
    }
    return millionths; // ms in ns, shares in ppm
}

static bool read_stored(int32_t setting, Words value, int64_t *stored, FlImpairError *error)
{
    const Setting *row = &setting_table[setting];
    if (row->unit == UNIT_SHAPE) {
        return read_shape(value, stored, error);
    }
    if (row->unit == UNIT_SWITCH) {
        return read_switch(row->word, value, stored, error);
    }
    int64_t millionths;
    if (!fl__words_number(value, &millionths)) {
        (void)fl__impair_wrong_about(error, "a plain number such as 12.5 is needed, not '", value,
                                     "'");
        return false;
    }
    *stored = stored_from(row->unit, millionths);
    if (row->unit == UNIT_KBIT_S && millionths > 0 && *stored == 0) {
        (void)fl__impair_wrong(error, "rate is at least 0.008 kbit/s, or 0 for no limit");
        return false;
    }
    return true;
}

// Small fields hold at least the whole valid range; what is larger stays invalid at the end of the
// field's range.
static int32_t small(int64_t stored)
{
    return stored > INT32_MAX ? INT32_MAX : (int32_t)stored;
}

void fl__setting_store(int32_t setting, int64_t stored, FlImpairSettings *settings)
{
    switch ((SettingId)setting) {
    case SETTING_DELAY:
        settings->delay_ns = stored;
        break;
    case SETTING_JITTER:
        settings->jitter_ns = stored;
        break;
    case SETTING_DISTRIBUTION:
        settings->shape = (FlImpairShape)stored;
        break;
    case SETTING_CORRELATION:
        settings->correlation_ppm = small(stored);
        break;
    case SETTING_CORRELATION_LAG:
        settings->correlation_lag_ns = stored;
        break;
    case SETTING_KEEP_ORDER:
        settings->keep_order = stored != 0;
        break;
    case SETTING_LOSS:
        settings->loss_ppm = small(stored);
        break;
    case SETTING_BURST_GAP:
        settings->burst_gap_ns = stored;
        break;
    case SETTING_BURST_LENGTH:
        settings->burst_length_ns = stored;
        break;
    case SETTING_BURST_LOSS:
        settings->burst_loss_ppm = small(stored);
        break;
    case SETTING_DUPLICATE:
        settings->duplicate_ppm = small(stored);
        break;
    case SETTING_RATE:
        settings->rate_bytes_s = stored;
        break;
    case SETTING_QUEUE:
        settings->queue_ns = stored;
        break;
    case SETTING_EXTRA:
        settings->packet_extra_bytes = small(stored);
        break;
    case SETTING_COUNT:
        break;
    }
}

// The value's own range: whether it fits the others is only known when all are there.
static bool in_range(int32_t setting, int64_t stored, FlImpairError *error)
{
    FlImpairSettings probe = fl_impair_def_default().settings;
    fl__setting_store(setting, stored, &probe);
    const char *problem = fl__settings_range_problem(&probe);
    if (problem != NULL) {
        (void)fl__impair_wrong(error, problem);
    }
    return problem == NULL;
}

bool fl__setting_read(int32_t setting, Words value, int64_t *stored, FlImpairError *error)
{
    return read_stored(setting, value, stored, error) && in_range(setting, *stored, error);
}

FlResult fl__impair_settings_set(FlImpairSettings *settings, const char *word, const char *value,
                                 FlImpairError *error)
{
    int32_t setting = fl__setting_find((Words){word, strlen(word)});
    if (setting < 0) {
        (void)fl__impair_wrong_about(error, "there is no setting '", (Words){word, strlen(word)},
                                     "'");
        return FL_NOT_FOUND;
    }
    int64_t stored;
    if (!fl__setting_read(setting, (Words){value, strlen(value)}, &stored, error)) {
        return FL_BAD_VALUE;
    }
    fl__setting_store(setting, stored, settings);
    return FL_OK;
}
