// spec/vectors/: bytes and what they mean, for decoders in other languages.
//
// The files are made by `unit_vectors --write` and compared by the test: a change of any byte or
// meaning shows as a difference to a file, and then FL_WIRE_VERSION must rise. Beside this,
// vectors_<name>.c makes the text of spec/vectors/<name>.json.
#include "vectors.h"

typedef struct Vectors {
    const char *path;
    void (*make)(Text *text);
} Vectors;

#define ROW(name)                                                                                  \
    {                                                                                              \
        "spec/vectors/" #name ".json", vectors_##name                                              \
    }

static const Vectors ALL[] = {ROW(crowd), ROW(fields), ROW(link),  ROW(message),
                              ROW(own),   ROW(seal),   ROW(update)};

enum { COUNT = sizeof ALL / sizeof ALL[0] };

static const char *make_text(const Vectors *vectors)
{
    static char made[TEXT_MAX];
    Text text = {made, sizeof made};
    vectors->make(&text);
    return made;
}

static const char *kept_text(const Vectors *vectors)
{
    static char kept[TEXT_MAX];
    FILE *file = fopen(vectors->path, "rb");
    assert_non_null(file);
    size_t size = fread(kept, 1, sizeof kept - 1, file);
    fclose(file);
    kept[size] = '\0';
    return kept;
}

static void a_file_of_vectors_is_what_the_library_writes(void **state)
{
    const Vectors *vectors = (const Vectors *)*state;
    if (strcmp(make_text(vectors), kept_text(vectors)) != 0) {
        print_error("%s differs: raise FL_WIRE_VERSION and run this with --write\n", vectors->path);
        fail();
    }
}

/// The program's exit code.
static int write_all(void)
{
    for (int32_t i = 0; i < COUNT; i++) {
        FILE *file = fopen(ALL[i].path, "wb");
        if (file == NULL || fputs(make_text(&ALL[i]), file) < 0 || fclose(file) != 0) {
            perror(ALL[i].path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0) {
        return write_all();
    }
    static Vectors rows[COUNT]; // a test's state is not const
    struct CMUnitTest tests[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        rows[i] = ALL[i];
        struct CMUnitTest test = {rows[i].path, a_file_of_vectors_is_what_the_library_writes, NULL,
                                  NULL, &rows[i]};
        tests[i] = test;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
