// fairlead/fields.h: what an entity has besides its motion, named and typed: health, ammunition, a
// turret's angle. fairlead.h has the functions; docs/guide/fields.md says when to use them.
//
// A *kind* is what entities of one sort have in common: a name, a version and fields, in up to 32
// *groups*. A group is what travels together: its fields change together, or are seen by the same
// players. All peers define the same kinds; where two differ, both are notified, and nothing of
// that kind goes between them.
//
//     static const FlFieldDef TANK[] = {
//         {.name = "health", .type = FL_FIELD_INT, .low = 0, .high = 100},
//         {.name = "turret", .type = FL_FIELD_ANGLE, .size = 10, .group = 1},
//         {.name = "shells", .type = FL_FIELD_INT, .low = 0, .high = 40, .group = 2},
//     };
//     FlKindDef tank = {.name = "tank", .fields = TANK, .field_count = 3, .private_groups = 1u <<
//     2};
//
// Threads: no shared state.
#ifndef FAIRLEAD_FIELDS_H
#define FAIRLEAD_FIELDS_H

#include "fairlead/base.h"

typedef enum FlFieldType {
    FL_FIELD_INT,   ///< A whole number from `low` to `high`, both within 2^53 of zero.
    FL_FIELD_REAL,  ///< From `low` to `high` in steps of `step`, at most 2^32 of them.
    FL_FIELD_BITS,  ///< `size` flags, 1 to 64, as the low bits of a whole number.
    FL_FIELD_ANGLE, ///< Radians, one of 2^`size` directions; 1 to 30.
    FL_FIELD_BYTES, ///< At most `size` bytes, 1 to 200.
} FlFieldType;

#define FL_FIELDS 64           ///< Of a kind at most,
#define FL_FIELD_GROUPS 32     ///< groups,
#define FL_FIELDS_BYTES 240    ///< and bytes of all fields together, packed.
#define FL_FIELD_NAME_BYTES 24 ///< Of a field's name, its closing zero included.

/// One field. Others read its index in the table: name them in an enum.
typedef struct FlFieldDef {
    const char *name;
    FlFieldType type;
    uint8_t group; ///< 0 to 31; all below the highest one have a field.
    int32_t size;
    double low, high, step;
} FlFieldDef;

/// A kind of entities. What it points to is copied.
typedef struct FlKindDef {
    const char *name; ///< At most 32 bytes of UTF-8, the closing zero included.
    uint16_t version; ///< The game's own.
    const FlFieldDef *fields;
    int32_t field_count;
    uint32_t private_groups; ///< A bit for each group that only the owner, the host and those see
                             ///< whom fl_field_scope names; others by all who see the entity. A bit
                             ///< without a group is refused.
} FlKindDef;

/// A field's value: whichever its type has.
typedef struct FlValue {
    int64_t integer; ///< FL_FIELD_INT, FL_FIELD_BITS.
    double real;     ///< FL_FIELD_REAL, FL_FIELD_ANGLE: in (-pi, pi].
    const uint8_t *bytes;
    int32_t count;
} FlValue;

#endif
