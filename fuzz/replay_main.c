// Runs a fuzz harness over stored inputs, for compilers without libFuzzer and for every ./test.
//
// Arguments are folders or files. A folder that is missing or empty is an error: a replay of
// nothing would pass for ever.
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Feeds one file; exits on any trouble with it. The buffer is exactly as long as the file, so that
// a sanitizer sees the first byte read past its end.
static void replay_file(const char *path, FILE *file)
{
    if (fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "replay: %s: cannot be read\n", path);
        exit(2);
    }
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
}

// Returns how many inputs `path` held.
static int replay(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        FILE *file = fopen(path, "rb");
        if (file == NULL) {
            fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
            exit(2);
        }
        replay_file(path, file);
        fclose(file);
        return 1;
    }
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof inner) {
            fprintf(stderr, "replay: %s/%s: name too long\n", path, entry->d_name);
            exit(2);
        }
        count += replay(inner);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        count += replay(argv[i]);
    }
    printf("replayed %d inputs\n", count);
    return count > 0 ? 0 : 2;
}
