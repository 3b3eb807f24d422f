// Addresses as text, as bytes, and as the system wants them.
#define _GNU_SOURCE
#include "private.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- text

// "HOST:PORT" in two parts. Host brackets are taken off, and remembered: only IPv6 addresses wear
// them.
typedef struct HostPort {
    char host[256];
    uint16_t port;
    bool bracketed;
} HostPort;

static bool read_port(const char *text, uint16_t *port)
{
    uint32_t value = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5) {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9') {
            return false;
        }
        value = value * 10 + (uint32_t)(*c - '0');
    }
    *port = (uint16_t)value;
    return value <= UINT16_MAX;
}

static bool split(const char *text, HostPort *out)
{
    const char *host = text;
    const char *colon = strrchr(text, ':');
    if (colon == NULL) {
        return false;
    }
    const char *host_end = colon;
    out->bracketed = text[0] == '[';
    if (out->bracketed) {
        host++;
        host_end--;
        if (host_end <= host || *host_end != ']') {
            return false;
        }
    } else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
        return false; // an IPv6 address without brackets: where would the port begin?
    }
    size_t length = (size_t)(host_end - host);
    if (length == 0 || length >= sizeof out->host) {
        return false;
    }
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    return read_port(colon + 1, &out->port);
}

// An interface's number: "2".
static bool read_scope(const char *text, uint32_t *scope)
{
    uint64_t value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || value > UINT32_MAX) {
            return false;
        }
        value = value * 10 + (uint64_t)(*c - '0');
    }
    *scope = (uint32_t)value;
    return text[0] != '\0' && value <= UINT32_MAX;
}

static bool read_ipv6(HostPort *parts, FlAddress *out)
{
    char *percent = strchr(parts->host, '%');
    if (percent != NULL) {
        *percent = '\0';
        if (!read_scope(percent + 1, &out->scope)) {
            return false;
        }
    }
    out->family = FL_FAMILY_IPV6;
    return inet_pton(AF_INET6, parts->host, out->ip) == 1;
}

static bool read_ipv4(const HostPort *parts, FlAddress *out)
{
    out->family = FL_FAMILY_IPV4;
    return inet_pton(AF_INET, parts->host, out->ip) == 1;
}

FlResult fl_address_parse(const char *text, FlAddress *out)
{
    *out = (FlAddress){.family = FL_FAMILY_NONE};
    HostPort parts;
    if (!split(text, &parts)) {
        return FL_BAD_VALUE;
    }
    FlAddress address = {.port = parts.port};
    if (parts.bracketed ? !read_ipv6(&parts, &address) : !read_ipv4(&parts, &address)) {
        return FL_BAD_VALUE;
    }
    *out = address;
    return FL_OK;
}

const char *fl_address_format(FlAddress address, char out[FL_ADDRESS_TEXT_BYTES])
{
    char ip[INET6_ADDRSTRLEN] = "";
    if (address.family == FL_FAMILY_IPV4) {
        (void)inet_ntop(AF_INET, address.ip, ip, sizeof ip);
        snprintf(out, FL_ADDRESS_TEXT_BYTES, "%s:%u", ip, address.port);
    } else if (address.family == FL_FAMILY_IPV6) {
        char scope[16] = "";
        if (address.scope != 0) {
            snprintf(scope, sizeof scope, "%%%u", address.scope);
        }
        (void)inet_ntop(AF_INET6, address.ip, ip, sizeof ip);
        snprintf(out, FL_ADDRESS_TEXT_BYTES, "[%s%s]:%u", ip, scope, address.port);
    } else {
        snprintf(out, FL_ADDRESS_TEXT_BYTES, "nowhere");
    }
    return out;
}

// ---------------------------------------------------------------- names

static const struct addrinfo *first_of(const struct addrinfo *list, int family)
{
    while (list != NULL && list->ai_family != family) {
        list = list->ai_next;
    }
    return list;
}

static const struct addrinfo *choose(const struct addrinfo *list, FlFamily family)
{
    const struct addrinfo *v4 = family != FL_FAMILY_IPV6 ? first_of(list, AF_INET) : NULL;
    if (v4 != NULL) {
        return v4;
    }
    return family != FL_FAMILY_IPV4 ? first_of(list, AF_INET6) : NULL;
}

FlResult fl_address_resolve(const char *text, FlFamily family, FlAddress *out)
{
    if (fl_address_parse(text, out) == FL_OK) {
        if (family == FL_FAMILY_NONE || out->family == family) {
            return FL_OK;
        }
        *out = (FlAddress){.family = FL_FAMILY_NONE};
        return FL_NO_ADDRESS;
    }
    HostPort parts;
    if (!split(text, &parts) || parts.bracketed) {
        return FL_BAD_VALUE;
    }
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    if (getaddrinfo(parts.host, NULL, &hints, &list) != 0) {
        return FL_NO_ADDRESS;
    }
    const struct addrinfo *chosen = choose(list, family);
    if (chosen != NULL) {
        SocketAddress address = {.any = {0}};
        memcpy(&address, chosen->ai_addr,
               chosen->ai_addrlen < sizeof address ? chosen->ai_addrlen : sizeof address);
        *out = fl__address_from_system(&address);
        out->port = parts.port;
    }
    freeaddrinfo(list);
    return chosen != NULL ? FL_OK : FL_NO_ADDRESS;
}

// ---------------------------------------------------------------- bytes

// An IPv4 address inside an IPv6 socket is ::ffff:a.b.c.d.
static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static socklen_t to_v4(FlAddress address, SocketAddress *out)
{
    out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(address.port)};
    memcpy(&out->v4.sin_addr, address.ip, 4);
    return sizeof out->v4;
}

socklen_t fl__address_to_system(FlAddress address, int socket_family, SocketAddress *out)
{
    if (socket_family == AF_INET) {
        return address.family == FL_FAMILY_IPV4 ? to_v4(address, out) : 0;
    }
    out->v6 = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = htons(address.port), .sin6_scope_id = address.scope};
    uint8_t *ip = out->v6.sin6_addr.s6_addr;
    if (address.family == FL_FAMILY_IPV6) {
        memcpy(ip, address.ip, 16);
    } else if (address.family == FL_FAMILY_IPV4) {
        memcpy(ip, mapped_prefix, sizeof mapped_prefix);
        memcpy(ip + sizeof mapped_prefix, address.ip, 4);
    } else {
        return 0;
    }
    return sizeof out->v6;
}

FlAddress fl__address_from_system(const SocketAddress *address)
{
    FlAddress out = {.family = FL_FAMILY_NONE};
    if (address->any.sa_family == AF_INET) {
        out.family = FL_FAMILY_IPV4;
        out.port = ntohs(address->v4.sin_port);
        memcpy(out.ip, &address->v4.sin_addr, 4);
    } else if (address->any.sa_family == AF_INET6) {
        const uint8_t *ip = address->v6.sin6_addr.s6_addr;
        bool mapped = memcmp(ip, mapped_prefix, sizeof mapped_prefix) == 0;
        out.family = mapped ? FL_FAMILY_IPV4 : FL_FAMILY_IPV6;
        out.port = ntohs(address->v6.sin6_port);
        out.scope = mapped ? 0 : address->v6.sin6_scope_id;
        memcpy(out.ip, mapped ? ip + sizeof mapped_prefix : ip, mapped ? 4 : 16);
    }
    return out;
}
