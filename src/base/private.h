// Private to Fairlead: what several modules need, once.
//
//   times and sizes, bits of numbers, bytes of numbers, bits in words    here, inline
//   Fl__Table       tables that an object reserves together             tables.c
//   Fl__Ring        bytes in a circle                                   ring.c
//   Fl__Addresses   indices found by address                            address.c
//   kernels.h       mathematics for loops
#ifndef FAIRLEAD_BASE_PRIVATE_H
#define FAIRLEAD_BASE_PRIVATE_H

#include "fairlead/base.h"

#include "base/rules.h"

#include <stdarg.h>
#include <string.h>

/// Compiles a loop for wider vectors too and picks at load time. The bits are the same: no fused
/// operations.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FL__WIDE __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#define FL__WIDE
#endif

/// Keeps an unusual way out of its caller, whose usual way then needs fewer registers.
#if defined(__GNUC__)
#define FL__APART __attribute__((noinline))
#else
#define FL__APART
#endif

// ---------------------------------------------------------------- text

#if defined(__GNUC__)
#define FL__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define FL__PRINTF(text, first)
#endif

/// As vsnprintf; what does not fit is cut off.
void fl__format_list(char *out, size_t room, const char *format, va_list values) FL__PRINTF(3, 0);

static inline void fl__error_clear(FlError *error)
{
    error->code = FL_OK;
    error->text[0] = '\0';
}

void fl__error_set(FlError *error, FlResult code, const char *format, ...) FL__PRINTF(3, 4);

/// Whether a whole number is in its range; otherwise the error names field, value and range.
bool fl__whole_in(FlError *error, const char *field, int64_t value, int64_t low, int64_t high);

/// The same of a power of two from 1.
bool fl__power_up_to(FlError *error, const char *field, int32_t value, int32_t high);

// ---------------------------------------------------------------- bits of numbers

static inline uint64_t fl__bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double fl__double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t fl__float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float fl__float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// ---------------------------------------------------------------- times and sizes

static inline int32_t fl__int_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t fl__int_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/// b if either is NaN.
static inline double fl__min(double a, double b)
{
    return a < b ? a : b;
}

/// b if either is NaN.
static inline double fl__max(double a, double b)
{
    return a > b ? a : b;
}

static inline bool fl__is_power_of_two(int32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/// True if serial a was given after b, on a circle of 32 bits; 16 bits have fl__seq_newer.
static inline bool fl__serial_newer(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

// ---------------------------------------------------------------- bytes of numbers, lowest first

static inline uint16_t fl__load_u16(const uint8_t *byte)
{
    return (uint16_t)(byte[0] | byte[1] << 8);
}

static inline uint32_t fl__load_u32(const uint8_t *byte)
{
    return (uint32_t)byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 |
           (uint32_t)byte[3] << 24;
}

/// Written so that compilers make it one load.
static inline uint64_t fl__load_u64(const uint8_t *byte)
{
    return (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 |
           (uint64_t)byte[3] << 24 | (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 |
           (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
}

static inline void fl__store_u32(uint8_t *byte, uint32_t value)
{
    for (int32_t i = 0; i < 4; i++) {
        byte[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline void fl__store_u64(uint8_t *byte, uint64_t value)
{
    for (int32_t i = 0; i < 8; i++) {
        byte[i] = (uint8_t)(value >> 8 * i);
    }
}

// ---------------------------------------------------------------- bits in words

/// Words of 64 bits for that many bits.
static inline int32_t fl__bit_words(int32_t bits)
{
    return (bits + 63) / 64;
}

/// Number of the lowest bit set; one must be.
static inline int32_t fl__bit_lowest(uint64_t word)
{
    return __builtin_ctzll(word);
}

/// Number of the highest bit set; one must be.
static inline int32_t fl__bit_highest(uint64_t word)
{
    return 63 - __builtin_clzll(word);
}

static inline void fl__bit_set(uint64_t *words, int32_t i)
{
    words[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void fl__bit_clear(uint64_t *words, int32_t i)
{
    words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

static inline bool fl__bit_get(const uint64_t *words, int32_t i)
{
    return (words[i >> 6] >> (i & 63) & 1u) != 0;
}

/// The first bit set at or after `from`, or -1.
static inline int32_t fl__bit_next(const uint64_t *words, int32_t word_count, int32_t from)
{
    for (int32_t w = from >> 6; w < word_count; w++) {
        uint64_t bits = words[w];
        if (w == from >> 6) {
            bits &= ~UINT64_C(0) << (from & 63);
        }
        if (bits != 0) {
            return w * 64 + fl__bit_lowest(bits);
        }
    }
    return -1;
}

// ---------------------------------------------------------------- tables of an object

/// One table that an object reserves: where its pointer is, and how long it is.
typedef struct Fl__Table {
    void **pointer;
    size_t bytes;
} Fl__Table;

size_t fl__tables_bytes(const Fl__Table *tables, int32_t count);

/// Zeroed, and aligned for anything. False: no memory; fl__tables_release gives back the rest.
FL_NODISCARD bool fl__tables_reserve(const FlAlloc *alloc, const Fl__Table *tables, int32_t count);
void fl__tables_release(const FlAlloc *alloc, const Fl__Table *tables, int32_t count);

/// One block that holds several tables, each aligned for anything.
typedef struct Fl__Block {
    uint8_t *base; // NULL: they are only counted
    size_t bytes;
} Fl__Block;

/// Room for `count` things of `size`; NULL while counting.
static inline void *fl__block_take(Fl__Block *block, size_t count, size_t size)
{
    size_t align = _Alignof(max_align_t);
    void *at = block->base == NULL ? NULL : block->base + block->bytes;
    block->bytes += (count * size + align - 1) / align * align;
    return at;
}

// ---------------------------------------------------------------- bytes in a circle

/// The owner sets `bytes` and `capacity`; then it is empty.
typedef struct Fl__Ring {
    uint8_t *bytes;
    int32_t capacity;
    int64_t put, taken; // bytes ever
} Fl__Ring;

static inline int32_t fl__ring_used(const Fl__Ring *ring)
{
    return (int32_t)(ring->put - ring->taken);
}

static inline int32_t fl__ring_free(const Fl__Ring *ring)
{
    return ring->capacity - fl__ring_used(ring);
}

/// `count` bytes, for which there is room.
void fl__ring_put(Fl__Ring *ring, const void *bytes, int32_t count);

/// A copy of `count` bytes that are there, from the offset on. They stay.
void fl__ring_peek(const Fl__Ring *ring, int32_t offset, void *bytes, int32_t count);

/// The oldest `count` bytes, which are there.
void fl__ring_take(Fl__Ring *ring, void *bytes, int32_t count);

// ---------------------------------------------------------------- indices by address

#define FL__NONE (-1) // an index of nothing

/// Finds which of an array's elements has an address: open addressing. Removing one means clearing
/// the table and putting the others again, which is for arrays that change rarely.
typedef struct Fl__Addresses {
    int32_t *places;        // index, or FL__NONE
    int32_t size;           // a power of two, of fl__addresses_size
    const FlAddress *first; // that of element 0;
    size_t stride;          // and how far it is to that of the next
} Fl__Addresses;

/// Places for that many elements: at most half of them are taken.
int32_t fl__addresses_size(int32_t count);
void fl__addresses_clear(Fl__Addresses *addresses);

/// Where the index of the element with this address is, or belongs.
int32_t *fl__addresses_place(const Fl__Addresses *addresses, FlAddress address);

/// The code's name without its prefix ("WOULD_BLOCK"); "UNKNOWN" for a number that is none of ours.
const char *fl__result_name(FlResult result);

static inline FlTime fl__time_max(FlTime a, FlTime b)
{
    return a > b ? a : b;
}

/// Equal addresses have equal hashes; all 64 bits are mixed.
uint64_t fl__address_hash(FlAddress address);

/// Uniform in [0, 1), 53 bits.
double fl__random_unit(FlRandom *random);

#endif
