// Fields of entities as bits: places, values, groups.
#include "wire/fields.h"

#include "base/private.h"
#include "private.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES 200           // of a field of bytes
#define EXACT 9007199254740992.0 // 2^53

// ---------------------------------------------------------------- bits anywhere in an array

static uint64_t bits_get(const uint8_t *bytes, int32_t first, int32_t width)
{
    FlReader r;
    fl_reader_init(&r, bytes, FL_FIELDS_BYTES);
    r.bit_count = first;
    return fl_reader_take(&r, width);
}

static void bits_set(uint8_t *bytes, int32_t first, int32_t width, uint64_t value)
{
    for (int32_t i = 0; i < width; i++) {
        int32_t at = first + i;
        uint32_t bit = 1u << ((uint32_t)at & 7u);
        uint32_t others = bytes[at >> 3] & ~bit;
        bytes[at >> 3] = (uint8_t)(others | ((value >> i & 1) != 0 ? bit : 0));
    }
}

static int32_t width_of(uint64_t last)
{
    return last == 0 ? 0 : fl__bit_highest(last) + 1;
}

static int32_t place_bits(const FieldPlace *place)
{
    return place->width + 8 * place->most;
}

// ---------------------------------------------------------------- layout

static const char *place_number(const FlFieldDef *def, FieldPlace *place)
{
    bool whole = def->type == FL_FIELD_INT;
    double step = whole ? 1.0 : def->step;
    bool sound = isfinite(def->low) && isfinite(def->high) && def->low <= def->high &&
                 isfinite(step) && step > 0.0;
    if (!sound) {
        return "low must not be above high, and step above 0";
    }
    double last = (def->high - def->low) / step;
    if (whole && (def->low != floor(def->low) || def->high != floor(def->high) ||
                  fabs(def->low) > EXACT || fabs(def->high) > EXACT)) {
        return "low and high must be whole numbers within 2^53 of zero";
    }
    if (!whole && !(last < 4294967295.5)) {
        return "more than 2^32 steps from low to high";
    }
    place->low = def->low + 0.0;
    place->step = step;
    place->last =
        whole ? (uint64_t)((int64_t)def->high - (int64_t)def->low) : (uint64_t)fl__round_away(last);
    place->width = (uint8_t)width_of(place->last);
    return NULL;
}

static const struct {
    int32_t most;
    const char *problem;
} SIZES[] = {
    [FL_FIELD_BITS] = {64, "its size must be 1 to 64"},
    [FL_FIELD_ANGLE] = {30, "its size must be 1 to 30"},
    [FL_FIELD_BYTES] = {MOST_BYTES, "its size must be 1 to 200"},
};

static const char *place_init(const FlFieldDef *def, FieldPlace *place)
{
    if (def->name == NULL || def->name[0] == '\0' || strlen(def->name) >= FL_FIELD_NAME_BYTES) {
        return "its name must have 1 to 23 bytes";
    }
    if (def->group >= FL_FIELD_GROUPS || def->type > FL_FIELD_BYTES) {
        return "its group must be 0 to 31, and its type one of FlFieldType";
    }
    memset(place, 0, sizeof *place);
    memcpy(place->name, def->name, strlen(def->name));
    place->type = def->type;
    place->group = def->group;
    if (def->type <= FL_FIELD_REAL) {
        return place_number(def, place);
    }
    if (def->size < 1 || def->size > SIZES[def->type].most) {
        return SIZES[def->type].problem;
    }
    bool bytes = def->type == FL_FIELD_BYTES;
    place->most = bytes ? (uint16_t)def->size : 0;
    place->last = bytes ? (uint64_t)def->size : UINT64_MAX >> (64 - def->size);
    place->width = (uint8_t)width_of(place->last);
    return NULL;
}

static void hash_bytes(uint64_t *hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) { // FNV-1a
        *hash = (*hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static void hash_number(uint64_t *hash, uint64_t value)
{
    uint8_t bytes[8];
    for (int32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    hash_bytes(hash, bytes, sizeof bytes);
}

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

// KIND HASH: FNV-1a; of each field over its name with the closing zero, then eight bytes each of
// type, group, last, and of low and step as IEEE 754 bits; of the kind over its name likewise, then
// version, private groups and its fields' hashes.                spec/WIRE.md section 8.14
static uint64_t field_hash(const FieldPlace *place)
{
    uint64_t hash = HASH_SEED;
    hash_bytes(&hash, place->name, strlen(place->name) + 1);
    hash_number(&hash, (uint64_t)place->type);
    hash_number(&hash, place->group);
    hash_number(&hash, place->last);
    hash_number(&hash, fl__bits_of(place->low));
    hash_number(&hash, fl__bits_of(place->step));
    return hash;
}

static const char *order_fields(FieldLayout *layout)
{
    int32_t count = 0;
    int32_t bits = 0;
    for (int32_t g = 0; g < layout->group_count; g++) {
        layout->from[g] = (uint8_t)count;
        for (int32_t i = 0; i < layout->field_count; i++) {
            FieldPlace *place = &layout->field[i];
            if (place->group == g) {
                layout->order[count++] = (uint8_t)i;
                place->first = (uint16_t)bits;
                bits += place_bits(place);
            }
        }
        if (count == layout->from[g]) {
            return "a group below the highest one has no field";
        }
    }
    layout->from[layout->group_count] = (uint8_t)count;
    layout->bytes = (bits + 7) / 8;
    return layout->bytes > FL_FIELDS_BYTES ? "its fields take more than 240 bytes" : NULL;
}

const char *fl__layout_init(const FlKindDef *def, FieldLayout *layout, int32_t *field)
{
    *field = -1;
    memset(layout, 0, sizeof *layout);
    if (def->name == NULL || def->name[0] == '\0' || strlen(def->name) >= sizeof layout->name) {
        return "its name must have 1 to 31 bytes";
    }
    if (def->field_count < 1 || def->field_count > FL_FIELDS) {
        return "it must have 1 to 64 fields";
    }
    if (def->fields == NULL) {
        return "fields is NULL, and field_count is above 0";
    }
    memcpy(layout->name, def->name, strlen(def->name));
    layout->version = def->version;
    layout->field_count = def->field_count;
    layout->private_groups = def->private_groups;
    layout->hash = HASH_SEED;
    hash_bytes(&layout->hash, def->name, strlen(def->name) + 1);
    hash_number(&layout->hash, def->version);
    hash_number(&layout->hash, def->private_groups);
    for (int32_t i = 0; i < def->field_count; i++) {
        FieldPlace *place = &layout->field[i];
        const char *problem = place_init(&def->fields[i], place);
        if (problem != NULL) {
            *field = i;
            return problem;
        }
        uint64_t hash = field_hash(place);
        place->hash = (uint16_t)hash;
        hash_number(&layout->hash, hash);
        layout->group_count =
            place->group >= layout->group_count ? place->group + 1 : layout->group_count;
    }
    uint32_t groups = layout->group_count < 32 ? (1u << layout->group_count) - 1 : UINT32_MAX;
    if ((def->private_groups & ~groups) !=
        0) { // mistyped, all would see what is meant to be hidden
        return "private_groups names a group that no field is in";
    }
    return order_fields(layout);
}

// ---------------------------------------------------------------- values

void fl__fields_clear(const FieldLayout *layout, uint8_t packed[FL_FIELDS_BYTES])
{
    memset(packed, 0, FL_FIELDS_BYTES);
    for (int32_t i = 0; i < layout->field_count; i++) {
        const FieldPlace *place = &layout->field[i];
        double high = place->low + (double)place->last * place->step;
        double nearest = place->low > 0.0 ? place->low : high < 0.0 ? high : 0.0;
        FlValue value = {.integer = (int64_t)nearest, .real = nearest};
        bool changed;
        if (place->type <= FL_FIELD_REAL) {
            bool set = fl__field_set(layout, packed, i, &value, &changed);
            FL_ASSERT(set);
            (void)set;
        }
    }
}

// The index of a value. False: it has none.
static bool index_of(const FieldPlace *place, const FlValue *value, uint64_t *index)
{
    *index = 0;
    switch (place->type) {
    case FL_FIELD_INT:
        if (value->integer < (int64_t)place->low) {
            return false;
        }
        *index = (uint64_t)value->integer - (uint64_t)(int64_t)place->low;
        break;
    case FL_FIELD_REAL: {
        FlQuantiser quantiser = {
            .origin = place->low, .step = place->step, .last = (uint32_t)place->last};
        uint32_t found;
        bool inside = fl__quantise(&quantiser, value->real, &found);
        *index = found;
        return inside;
    }
    case FL_FIELD_BITS:
        *index = (uint64_t)value->integer;
        break;
    case FL_FIELD_ANGLE:
        if (!isfinite(value->real)) {
            return false;
        }
        *index = fl_circle_index(value->real, place->width);
        break;
    default:
        *index = (uint64_t)value->count;
        break;
    }
    return *index <= place->last;
}

bool fl__field_set(const FieldLayout *layout, uint8_t *packed, int32_t field, const FlValue *value,
                   bool *changed)
{
    const FieldPlace *place = &layout->field[field];
    uint64_t index;
    *changed = false;
    if (!index_of(place, value, &index)) {
        return false;
    }
    if (bits_get(packed, place->first, place->width) != index) {
        bits_set(packed, place->first, place->width, index);
        *changed = true;
    }
    for (int32_t i = 0; i < place->most; i++) { // beyond the length: zero
        int32_t first = place->first + place->width + 8 * i;
        uint8_t byte = value->bytes != NULL && (uint64_t)i < index ? value->bytes[i] : 0;
        if (bits_get(packed, first, 8) != byte) {
            bits_set(packed, first, 8, byte);
            *changed = true;
        }
    }
    return true;
}

FlValue fl__field_get(const FieldLayout *layout, const uint8_t *packed, int32_t field,
                      uint8_t *bytes)
{
    const FieldPlace *place = &layout->field[field];
    uint64_t index = bits_get(packed, place->first, place->width);
    FlValue value = {0};
    switch (place->type) {
    case FL_FIELD_INT:
        value.integer = (int64_t)place->low + (int64_t)index;
        value.real = (double)value.integer;
        break;
    case FL_FIELD_REAL:
        value.real = place->low + (double)index * place->step;
        break;
    case FL_FIELD_BITS:
        value.integer = (int64_t)index;
        break;
    case FL_FIELD_ANGLE:
        value.real = fl_circle_angle((uint32_t)index, place->width);
        break;
    default:
        value.bytes = bytes;
        value.count = (int32_t)index;
        for (int32_t i = 0; i < value.count; i++) {
            bytes[i] = (uint8_t)bits_get(packed, place->first + place->width + 8 * i, 8);
        }
        break;
    }
    return value;
}

// ---------------------------------------------------------------- groups

static int32_t mask_width(const FieldLayout *layout)
{
    return layout->group_count > 1 ? layout->group_count : 0;
}

int32_t fl__groups_bytes(const FieldLayout *layout, const uint8_t *packed, uint32_t mask)
{
    int32_t bits = mask_width(layout);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        for (int32_t i = layout->from[g]; i < layout->from[g + 1]; i++) {
            const FieldPlace *place = &layout->field[layout->order[i]];
            bits += place->width;
            bits += place->most > 0 ? 8 * (int32_t)bits_get(packed, place->first, place->width) : 0;
        }
    }
    return (bits + 7) / 8;
}

static void copy_bits(const uint8_t *from, int32_t first, int32_t count, FlWriter *w)
{
    for (int32_t done = 0; done < count; done += 32) {
        int32_t part = count - done < 32 ? count - done : 32;
        fl_writer_put(w, bits_get(from, first + done, part), part);
    }
}

void fl__groups_write(const FieldLayout *layout, const uint8_t *packed, uint32_t mask,
                      FlWriter *writer)
{
    FL_ASSERT(mask != 0 && (mask & ~fl__layout_groups(layout)) == 0);
    fl_writer_put(writer, mask_width(layout) > 0 ? mask : 0, mask_width(layout));
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        for (int32_t i = layout->from[g]; i < layout->from[g + 1]; i++) {
            const FieldPlace *place = &layout->field[layout->order[i]];
            uint64_t index = bits_get(packed, place->first, place->width);
            fl_writer_put(writer, index, place->width);
            if (place->most > 0) {
                copy_bits(packed, place->first + place->width, 8 * (int32_t)index, writer);
            }
        }
    }
    fl_writer_align(writer);
}

static void read_field(const FieldPlace *place, FlReader *reader, uint8_t *packed)
{
    uint64_t index = fl_reader_take(reader, place->width);
    if (index > place->last) {
        fl__reader_fail(reader);
        return;
    }
    bits_set(packed, place->first, place->width, index);
    for (int32_t i = 0; i < place->most; i++) {
        uint64_t byte = (uint64_t)i < index ? fl_reader_take(reader, 8) : 0;
        bits_set(packed, place->first + place->width + 8 * i, 8, byte);
    }
}

bool fl__groups_read(const FieldLayout *layout, FlReader *reader, uint32_t *mask, uint8_t *packed)
{
    int32_t width = mask_width(layout);
    *mask = width > 0 ? (uint32_t)fl_reader_take(reader, width) : 1u;
    for (uint32_t left = *mask; left != 0 && !reader->failed; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        for (int32_t i = layout->from[g]; i < layout->from[g + 1]; i++) {
            read_field(&layout->field[layout->order[i]], reader, packed);
        }
    }
    fl_reader_align(reader);
    return !reader->failed && *mask != 0;
}

void fl__groups_copy(const FieldLayout *layout, uint32_t mask, const uint8_t *from, uint8_t *to)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        for (int32_t i = layout->from[g]; i < layout->from[g + 1]; i++) {
            const FieldPlace *place = &layout->field[layout->order[i]];
            int32_t count = place_bits(place);
            for (int32_t done = 0; done < count; done += 32) {
                int32_t part = count - done < 32 ? count - done : 32;
                bits_set(to, place->first + done, part, bits_get(from, place->first + done, part));
            }
        }
    }
}
