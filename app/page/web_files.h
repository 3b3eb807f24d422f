// The page's files, in the program. Made at build time: cmake/web.cmake.
#ifndef APP_WEB_FILES_H
#define APP_WEB_FILES_H

#include <stddef.h>

typedef struct WebFile {
    const char *path; ///< "/main.js"
    const char *type; ///< For Content-Type.
    const char *etag; ///< In quotes: changes with the bytes.
    const unsigned char *bytes;
    size_t count;
} WebFile;

extern const WebFile web_files[];
extern const size_t web_file_count;

#endif
