// Names and sentences, from the tables in seal.h.
#include "private.h"

const char *fl__seal_drop_name(FlSealDrop drop)
{
    switch (drop) {
#define FL_SEAL_DROP_ROW(name, word, meaning)                                                      \
    case FL_SEAL_DROP_##name:                                                                      \
        return word;
        FL_SEAL_DROP_TABLE(FL_SEAL_DROP_ROW)
#undef FL_SEAL_DROP_ROW
    case FL_SEAL_DROPS:
        break;
    }
    return "unknown";
}

const char *fl__seal_state_name(FlSealState state)
{
    switch (state) {
#define FL_SEAL_STATE_ROW(name, value, meaning)                                                    \
    case FL_SEAL_##name:                                                                           \
        return #name;
        FL_SEAL_STATE_TABLE(FL_SEAL_STATE_ROW)
#undef FL_SEAL_STATE_ROW
    }
    return "UNKNOWN";
}

const char *fl__seal_state_text(FlSealState state)
{
    switch (state) {
#define FL_SEAL_STATE_ROW(name, value, meaning)                                                    \
    case FL_SEAL_##name:                                                                           \
        return meaning;
        FL_SEAL_STATE_TABLE(FL_SEAL_STATE_ROW)
#undef FL_SEAL_STATE_ROW
    }
    return "no such state";
}
