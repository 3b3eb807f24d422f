// Records of units, in files and through pipes.
#ifndef APP_UNIT_FILE_H
#define APP_UNIT_FILE_H

#include <stdio.h>

#include "lab/world/lab_unit.h"

typedef enum UnitRecordKind { UNIT_BEGUN = 1, UNIT_DONE } UnitRecordKind;

/// Before each record's bytes. Whole words, no padding: it is written as it is.
typedef struct UnitHead {
    uint32_t kind;
    int32_t status; ///< LabStatus. Unless LAB_OK the bytes are the error's text.
    uint32_t figures_bytes, text_bytes;
    uint32_t packed_bytes; ///< Figures and text, by zlib.
    uint32_t check;        ///< CRC 32 of the packed bytes.
    char name[LAB_UNIT_NAME_BYTES];
} UnitHead;

/// A result. `{0}` is empty; free `packed`.
typedef struct UnitRecord {
    UnitHead head;
    unsigned char *packed;
} UnitRecord;

/// Packs a result, or an error. False: out of memory.
bool unit_record_make(const LabUnit *unit, LabStatus status, const LabError *error,
                      UnitRecord *record);

/// The other way round. False: it does not fit the unit (another program wrote it).
bool unit_record_open(const UnitRecord *record, const LabUnit *unit);

bool unit_record_write(FILE *file, const UnitRecord *record);

/// False: there is no whole record.
bool unit_record_read(FILE *file, UnitRecord *record);

#endif
