// Module `wire`: fields of entities as bits. For the modules above it.
//
// A kind's fields have fixed places in a *packed* array of bits, groups in order, so that a group
// can be compared, copied and sent without knowing what is in it. What travels of it is a mask of
// groups and the fields of those.
#ifndef FAIRLEAD_WIRE_FIELDS_H
#define FAIRLEAD_WIRE_FIELDS_H

#include "fairlead/fields.h"
#include "wire/wire.h"

/// One field in the packed array. A field of bytes has its length there, then all that fit.
typedef struct FieldPlace {
    FlFieldType type;
    uint8_t group;
    uint8_t width;  // bits of its index, or of its length
    uint16_t first; // bit
    uint16_t most;  // bytes of a field of bytes
    uint64_t last;  // no index, or length, is larger
    double low, step;
    uint16_t hash;
    char name[FL_FIELD_NAME_BYTES];
} FieldPlace;

/// What follows from a kind's definition.
typedef struct FieldLayout {
    char name[32];
    uint16_t version;
    uint32_t private_groups;
    int32_t field_count, group_count;
    int32_t bytes;                     // of the packed array
    uint64_t hash;                     // of the definition
    uint8_t order[FL_FIELDS];          // fields by group,
    uint8_t from[FL_FIELD_GROUPS + 1]; // of each group the first in it
    FieldPlace field[FL_FIELDS];
} FieldLayout;

/// NULL, or what is wrong; `*field` is which, or -1: the kind itself.
const char *fl__layout_init(const FlKindDef *def, FieldLayout *layout, int32_t *field);

static inline uint32_t fl__layout_groups(const FieldLayout *layout)
{
    return layout->group_count == 32 ? UINT32_MAX : (1u << layout->group_count) - 1u;
}

/// What an entity has before anything is set: 0, or what is nearest to it; no bytes.
void fl__fields_clear(const FieldLayout *layout, uint8_t packed[FL_FIELDS_BYTES]);

/// False: out of range, or not a number. `*changed`: it was another one.
FL_NODISCARD bool fl__field_set(const FieldLayout *layout, uint8_t *packed, int32_t field,
                                const FlValue *value, bool *changed);

/// Bytes are copied to `bytes`, which has room for FL_FIELDS_BYTES.
FlValue fl__field_get(const FieldLayout *layout, const uint8_t *packed, int32_t field,
                      uint8_t *bytes);

/// Bytes that groups take, as they travel now; the mask included.
int32_t fl__groups_bytes(const FieldLayout *layout, const uint8_t *packed, uint32_t mask);

// GROUPS: fields of some groups.                                 spec/WIRE.md section 7.15
//
//   bits  field   unit   valid
//   n     mask    -      a bit for each of the kind's n groups, not 0; not there if n is 1
//   per group in it, its fields in the order of their definition:
//   w     value   -      index, at most the last; or bytes: their number, then they
//   then zero bits to a whole byte
void fl__groups_write(const FieldLayout *layout, const uint8_t *packed, uint32_t mask,
                      FlWriter *writer);

/// Puts them into `packed`; other groups stay. False: no sender writes that.
FL_NODISCARD bool fl__groups_read(const FieldLayout *layout, FlReader *reader, uint32_t *mask,
                                  uint8_t *packed);

/// Copies groups from one packed array to another.
void fl__groups_copy(const FieldLayout *layout, uint32_t mask, const uint8_t *from, uint8_t *to);

#endif
