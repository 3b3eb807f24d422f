// Finding things by address, client id or token proof: chains of indices, hashed with a secret.
//
// Why chains: what is found lies in arrays of its own, entries come and go in any order, and a
// removal must not disturb the others. Why a secret (SipHash): a client chooses its port and its
// token's holder its address, and must not be able to put them all into one chain.
#include "private.h"

#include <string.h>

int32_t fl__map_heads(int32_t capacity)
{
    int32_t heads = 16;
    while (heads < capacity) {
        heads *= 2;
    }
    return heads;
}

void fl__map_init(Map *map, int32_t capacity)
{
    map->head_count = fl__map_heads(capacity);
    for (int32_t i = 0; i < map->head_count; i++) {
        map->head[i] = -1;
    }
    for (int32_t i = 0; i < capacity; i++) {
        map->next[i] = -1;
    }
}

static int32_t *chain_of(const Map *map, MapKey key)
{
    uint8_t hash[crypto_shorthash_BYTES];
    crypto_shorthash(hash, (const uint8_t *)key.word, sizeof key.word, map->secret);
    return &map->head[fl__load_u32(hash) & (uint32_t)(map->head_count - 1)];
}

static bool same(MapKey a, MapKey b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2];
}

int32_t fl__map_find(const Map *map, MapKey key)
{
    int32_t index = *chain_of(map, key);
    while (index >= 0 && !same(map->key[index], key)) {
        index = map->next[index];
    }
    return index;
}

void fl__map_put(Map *map, MapKey key, int32_t index)
{
    int32_t *head = chain_of(map, key);
    map->key[index] = key;
    map->next[index] = *head;
    *head = index;
}

void fl__map_remove(Map *map, int32_t index)
{
    int32_t *at = chain_of(map, map->key[index]);
    while (*at != index) {
        FL_ASSERT(*at >= 0);
        at = &map->next[*at];
    }
    *at = map->next[index];
    map->next[index] = -1;
}

MapKey fl__map_address(FlAddress address)
{
    MapKey key;
    _Static_assert(sizeof key == sizeof address, "an address is three words without padding");
    memcpy(&key, &address, sizeof key);
    return key;
}

MapKey fl__map_number(uint64_t number)
{
    MapKey key = {{number, 0, 0}};
    return key;
}

MapKey fl__map_proof(const uint8_t proof[PROOF_BYTES])
{
    MapKey key = {{0, 0, 0}};
    memcpy(key.word, proof, PROOF_BYTES);
    return key;
}
