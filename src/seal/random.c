// Where random bytes come from: the caller's hook, or libsodium.
#include "private.h"

bool fl__sodium_ready(void)
{
    return sodium_init() >= 0; // 0 the first time, 1 ever after; safe from any thread
}

void fl__random_fill(const FlSealRandom *random, void *bytes, size_t count)
{
    if (random == NULL || random->fill_fn == NULL) {
        randombytes_buf(bytes, count);
        return;
    }
    random->fill_fn(random->ctx, bytes, count);
}

static void fill_seeded(void *ctx, void *bytes, size_t count)
{
    uint8_t *out = bytes;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = fl_random_next(ctx);
        for (size_t k = i; k < count && k < i + 8; k++) {
            out[k] = (uint8_t)word;
            word >>= 8;
        }
    }
}

FlSealRandom fl__seal_random_seeded(FlRandom *stream)
{
    FlSealRandom random = {fill_seeded, stream};
    return random;
}

void fl_seal_key(const FlSealRandom *random, uint8_t key[FL_SEAL_KEY_BYTES])
{
    fl__random_fill(random, key, FL_SEAL_KEY_BYTES);
}
