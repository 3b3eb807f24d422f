// The file is one line of 64 hexadecimal digits. Whoever reads it can let in anybody, so it is its
// owner's alone, and one that others may read is refused.
#define _GNU_SOURCE // O_CLOEXEC
#include "app/play/play_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

#define TEXT_BYTES (2 * FL_SEAL_KEY_BYTES + 1) // with the end of the line

static int fail_at(const char *who, const char *path, const char *why)
{
    return command_fail(EXIT_BAD_INPUT, who, "--key %s: %s", path, why);
}

static int digit_value(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit != '\0' ? strchr(digits, digit) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool parse_key(const char *text, ssize_t count, uint8_t key[FL_SEAL_KEY_BYTES])
{
    if (count != TEXT_BYTES || text[TEXT_BYTES - 1] != '\n') {
        return false;
    }
    for (int32_t i = 0; i < FL_SEAL_KEY_BYTES; i++) {
        int high = digit_value(text[2 * i]);
        int low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        key[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static int read_key(const char *who, const char *path, int file, uint8_t key[FL_SEAL_KEY_BYTES])
{
    struct stat status;
    char text[TEXT_BYTES + 1]; // one more than there should be
    if (fstat(file, &status) != 0) {
        return fail_at(who, path, strerror(errno));
    }
    bool regular = S_ISREG(status.st_mode);
    if (regular && (status.st_mode & 077) != 0) {
        return command_fail(EXIT_BAD_INPUT, who, "--key %s: others may read it: chmod 600 %s", path,
                            path);
    }
    ssize_t count = regular ? read(file, text, sizeof text) : 0;
    if (count < 0) {
        return fail_at(who, path, strerror(errno));
    }
    bool parsed = parse_key(text, count, key);
    fl_wipe(text, sizeof text);
    if (!parsed) {
        return fail_at(who, path, "this is no key file: take another name, and one is made");
    }
    return OPTIONS_GO_ON;
}

static int make_key(const char *who, const char *path, uint8_t key[FL_SEAL_KEY_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char text[TEXT_BYTES];
    FlSealRandom system = {0};
    fl_seal_key(&system, key);
    for (int32_t i = 0; i < FL_SEAL_KEY_BYTES; i++) {
        text[2 * i] = digits[key[i] >> 4];
        text[2 * i + 1] = digits[key[i] & 15];
    }
    text[TEXT_BYTES - 1] = '\n';
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return fail_at(who, path, strerror(errno));
    }
    errno = ENOSPC; // if it is written in part
    bool written = write(file, text, sizeof text) == (ssize_t)sizeof text && fsync(file) == 0;
    int why = errno;
    fl_wipe(text, sizeof text);
    if (close(file) != 0 || !written) {
        (void)unlink(path); // half a key is none
        return fail_at(who, path, strerror(why));
    }
    return OPTIONS_GO_ON;
}

int play_key_read(const char *who, const char *path, uint8_t key[FL_SEAL_KEY_BYTES])
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        return make_key(who, path, key);
    }
    if (file < 0) {
        return fail_at(who, path, strerror(errno));
    }
    int status = read_key(who, path, file, key);
    close(file);
    return status;
}
