// Writing to a temporary name beside the file, and renaming at the end.
#define _POSIX_C_SOURCE 200809L // lstat, getpid
#include "app/cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

static bool fail(const char *who, const char *path)
{
    int why = errno;
    command_fail(EXIT_FAILED, who, "cannot write %s: %s", path,
                 why != 0 ? strerror(why) : "write error");
    return false;
}

/// Renaming over a device or a link to one would replace it.
static bool is_replaceable(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

static char *temporary_name(const char *path)
{
    size_t bytes = strlen(path) + 32;
    char *name = malloc(bytes);
    if (name != NULL) {
        snprintf(name, bytes, "%s.%ld.tmp", path, (long)getpid());
    }
    return name;
}

/// 0, or why a device, a link or a folder cannot be written to. It is not opened: closing a pipe
/// would end it for its reader.
static int special_problem(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    return S_ISDIR(status.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
}

/// 0, or why there can be no temporary file beside it.
static int plain_problem(const char *path)
{
    char *temporary = temporary_name(path);
    if (temporary == NULL) {
        return ENOMEM;
    }
    FILE *stream = fopen(temporary, "w");
    int why = stream == NULL ? errno : 0;
    if (stream != NULL) {
        (void)fclose(stream);
        (void)remove(temporary);
    }
    free(temporary);
    return why;
}

int output_check(const char *who, const char *option, const char *path)
{
    int why = is_replaceable(path) ? plain_problem(path) : special_problem(path);
    return why == 0 ? OPTIONS_GO_ON
                    : command_fail(EXIT_BAD_INPUT, who,
                                   "%s: cannot write %s: %s; name a file in a folder that is there "
                                   "and may be written to",
                                   option, path, strerror(why));
}

int output_folder(const char *who, const char *option, const char *path, bool *made)
{
    struct stat status;
    *made = mkdir(path, 0777) == 0;
    int why = *made ? 0 : errno;
    if (why == EEXIST && stat(path, &status) == 0) {
        why = S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    }
    return why == 0 ? OPTIONS_GO_ON
                    : command_fail(EXIT_BAD_INPUT, who,
                                   "%s: cannot make %s: %s; name a folder in one that is there and "
                                   "may be written to",
                                   option, path, strerror(why));
}

bool output_open(Output *output, const char *who, const char *path)
{
    *output = (Output){.path = path};
    errno = 0;
    if (is_replaceable(path)) {
        output->temporary = temporary_name(path);
        if (output->temporary == NULL) {
            return fail(who, path);
        }
    }
    errno = 0;
    output->stream = fopen(output->temporary != NULL ? output->temporary : path, "w");
    if (output->stream == NULL) {
        fail(who, path);
        free(output->temporary);
        output->temporary = NULL;
        return false;
    }
    return true;
}

bool output_close(Output *output, const char *who)
{
    errno = 0;
    bool ok = !ferror(output->stream);
    ok = fclose(output->stream) == 0 && ok;
    if (output->temporary != NULL) {
        ok = ok && rename(output->temporary, output->path) == 0;
        if (!ok) {
            fail(who, output->path);
            remove(output->temporary);
        }
        free(output->temporary);
    } else if (!ok) {
        fail(who, output->path);
    }
    *output = (Output){0};
    return ok;
}
