// The one function that a harness defines: libFuzzer calls it, and replay_main.c does; and scripts.
#ifndef FAIRLEAD_FUZZ_H
#define FAIRLEAD_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// An input that says what happens, byte by byte; zeros, when it is used up.
typedef struct Script {
    const uint8_t *bytes;
    size_t left;
} Script;

static inline uint8_t script_take(Script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->bytes++;
}

#endif
