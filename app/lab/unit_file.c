// Units as bytes: packed, checked, whole or not at all.
#include "app/lab/unit_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

_Static_assert(sizeof(UnitHead) == 6 * sizeof(uint32_t) + LAB_UNIT_NAME_BYTES, "no padding");

/// No unit's result is larger: what says so is no record.
#define BYTES_MOST (256u << 20)

static bool pack(const unsigned char *raw, size_t bytes, UnitRecord *record)
{
    uLongf room = compressBound((uLong)bytes);
    record->packed = (unsigned char *)malloc(room > 0 ? room : 1);
    bool ok = record->packed != NULL &&
              compress2(record->packed, &room, raw, (uLong)bytes, Z_BEST_SPEED) == Z_OK;
    record->head.packed_bytes = ok ? (uint32_t)room : 0;
    record->head.check = ok ? (uint32_t)crc32(0, record->packed, (uInt)room) : 0;
    return ok;
}

bool unit_record_make(const LabUnit *unit, LabStatus status, const LabError *error,
                      UnitRecord *record)
{
    *record = (UnitRecord){.head = {.kind = UNIT_DONE, .status = (int32_t)status}};
    memcpy(record->head.name, unit->name, sizeof record->head.name);
    const char *text = status != LAB_OK     ? error->text
                       : unit->text != NULL ? text_of(unit->text)
                                            : "";
    size_t figures = status == LAB_OK ? unit->figures_bytes : 0;
    size_t words = strlen(text);
    FL_ASSERT(figures + words < BYTES_MOST);
    record->head.figures_bytes = (uint32_t)figures;
    record->head.text_bytes = (uint32_t)words;
    unsigned char *raw = (unsigned char *)malloc(figures + words + 1);
    if (raw == NULL) {
        return false;
    }
    if (figures > 0) {
        memcpy(raw, unit->figures, figures);
    }
    memcpy(raw + figures, text, words + 1);
    bool ok = pack(raw, figures + words, record);
    free(raw);
    return ok;
}

bool unit_record_open(const UnitRecord *record, const LabUnit *unit)
{
    const UnitHead *head = &record->head;
    size_t bytes = (size_t)head->figures_bytes + head->text_bytes;
    bool fits = head->status != LAB_OK || head->figures_bytes == unit->figures_bytes;
    unsigned char *raw = fits ? (unsigned char *)malloc(bytes + 1) : NULL;
    uLongf room = (uLongf)bytes;
    bool ok = raw != NULL && uncompress(raw, &room, record->packed, head->packed_bytes) == Z_OK &&
              room == bytes;
    if (ok) {
        raw[bytes] = '\0';
        if (head->figures_bytes > 0) {
            memcpy(unit->figures, raw, head->figures_bytes);
        }
        if (unit->text != NULL) {
            text_add(unit->text, "%s", (const char *)raw + head->figures_bytes);
        }
    }
    free(raw);
    return ok;
}

bool unit_record_write(FILE *file, const UnitRecord *record)
{
    size_t bytes = record->head.packed_bytes;
    return fwrite(&record->head, sizeof record->head, 1, file) == 1 &&
           (bytes == 0 || fwrite(record->packed, bytes, 1, file) == 1) && fflush(file) == 0;
}

bool unit_record_read(FILE *file, UnitRecord *record)
{
    *record = (UnitRecord){0};
    UnitHead *head = &record->head;
    if (fread(head, sizeof *head, 1, file) != 1 || head->kind < UNIT_BEGUN ||
        head->kind > UNIT_DONE || head->figures_bytes > BYTES_MOST ||
        head->text_bytes > BYTES_MOST || head->packed_bytes > BYTES_MOST ||
        memchr(head->name, '\0', sizeof head->name) == NULL) {
        return false;
    }
    record->packed = (unsigned char *)malloc((size_t)head->packed_bytes + 1);
    if (record->packed != NULL &&
        (head->packed_bytes == 0 || fread(record->packed, head->packed_bytes, 1, file) == 1) &&
        (uint32_t)crc32(0, record->packed, head->packed_bytes) == head->check) {
        return true;
    }
    free(record->packed);
    record->packed = NULL;
    return false;
}
