// The one function that a harness defines: libFuzzer calls it, and replay_main.c does.
#ifndef FAIRLEAD_FUZZ_H
#define FAIRLEAD_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
