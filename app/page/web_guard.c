// Names, origins, tokens.
#define _GNU_SOURCE // getrandom, strncasecmp
#include "app/page/web_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const words[WEB_COUNTS] = {
#define WEB_COUNT_WORD(name, word, meaning) word,
    WEB_COUNT_TABLE(WEB_COUNT_WORD)
#undef WEB_COUNT_WORD
};

const char *web_count_name(WebCount which)
{
    return words[which];
}

// ---------------------------------------------------------------- names

/// Without the port, which may be any: forwarded ports are somebody's right.
static size_t name_length(const char *host)
{
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    return bracket != NULL ? (size_t)(bracket - host) + 1 : strcspn(host, ":");
}

static bool is_name(const char *host, size_t length, const char *name)
{
    return name != NULL && strlen(name) == length && strncasecmp(host, name, length) == 0;
}

static bool is_digits(const char *host, size_t length)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, host, length);
    text[length] = '\0';
    return inet_pton(AF_INET, text, &address) == 1;
}

bool web_host_is_ours(const WebNames *names, const char *host)
{
    size_t length = name_length(host);
    if (host[length] != '\0' && host[length] != ':') {
        return false;
    }
    bool everywhere = strcmp(names->address, "0.0.0.0") == 0;
    return is_name(host, length, "127.0.0.1") || is_name(host, length, "localhost") ||
           is_name(host, length, "[::1]") || is_name(host, length, names->address) ||
           is_name(host, length, names->name) || (everywhere && is_digits(host, length));
}

bool web_origin_is_ours(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcmp(origin + sizeof scheme - 1, host) == 0;
}

// ---------------------------------------------------------------- tokens

bool web_token_matches(const char *token, const char *shown)
{
    size_t length = strlen(token);
    unsigned char differs = strlen(shown) != length;
    for (size_t i = 0; i < length && shown[i] != '\0'; i++) {
        differs |= (unsigned char)(shown[i] ^ token[i]);
    }
    return !differs;
}

bool web_token_good(const char *token)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(token);
    return length > 0 && length <= 64 && strspn(token, letters) == length;
}

bool web_token_make(char text[WEB_TOKEN_TEXT])
{
    unsigned char bytes[WEB_TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

// ---------------------------------------------------------------- ports

bool web_port_is_free(const char *where, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1;
    if (inet_pton(AF_INET, where, &address.sin_addr) != 1) {
        errno = EADDRNOTAVAIL;
        return false;
    }
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool free = bind(probe, (const struct sockaddr *)&address, sizeof address) == 0 &&
                listen(probe, 1) == 0;
    int why = errno;
    close(probe);
    errno = why;
    return free;
}
