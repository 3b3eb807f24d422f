// Invites: playing without a backend.
//
// An invite has a key of its own and an id. Its holder mints connect tokens for itself, sealed with
// the invite's key, the id at the start of their nonce; so the server finds the key, and its own
// private key never leaves it. Everything else is the standard's handshake.
//
// Client ids of such tokens begin with the upper half of the invite's id, whose highest bit is set:
// a holder can take another holder's name, but never that of a client whom the backend admitted.
//
//   bytes  field         as text: "fairlead:" and base64url of        spec/WIRE.md section 9.5
//   1      version       1
//   8      protocol id
//   8      invite id     highest bit set
//   8      expire        Unix time, seconds
//   4      uses          at least 1
//   7, 19  address       as in a token
//   32     key
//   4      check         the first bytes of BLAKE2b of all before, against mistyping
#include "private.h"
#include "server.h"

#include <string.h>

#define TEXT_HEAD "fairlead:"
#define TEXT_HEAD_BYTES (sizeof TEXT_HEAD - 1)
#define BINARY_BYTES (1 + 8 + 8 + 8 + 4 + 19 + FL_SEAL_KEY_BYTES + 4)
#define CHECK_BYTES 4
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define HIGHEST_BIT (UINT64_C(1) << 63)

// ---------------------------------------------------------------- at the server

ServerInvite *fl__invite_find(const FlSealServer *server, uint64_t invite_id)
{
    if (server->def.invite_capacity == 0 || (invite_id & HIGHEST_BIT) == 0) {
        return NULL;
    }
    int32_t index = fl__map_find(&server->invite_by_id, fl__map_number(invite_id));
    return index < 0 ? NULL : &server->invites[index];
}

bool fl__invite_good(const ServerInvite *invite, uint64_t unix_s)
{
    return (invite->uses_left > 0 || invite->guest != 0) && unix_s < invite->expire_s;
}

bool fl__invite_admits(const ServerInvite *invite, uint64_t client_id)
{
    return invite->uses_left > 0 || (invite->guest != 0 && invite->guest == client_id);
}

void fl__invite_spend(ServerInvite *invite, uint64_t client_id)
{
    if (invite->uses_left > 0) {
        invite->uses_left--;
        invite->guest = invite->single ? client_id : 0;
    }
}

bool fl__invite_owns(uint64_t invite_id, uint64_t client_id)
{
    return client_id >> 32 == invite_id >> 32;
}

static bool is_ours(const FlSealServer *server, FlAddress address)
{
    for (int32_t i = 0; i < server->def.address_count; i++) {
        if (fl_address_equal(server->def.address[i], address)) {
            return true;
        }
    }
    return false;
}

static void forget(FlSealServer *server, ServerInvite *invite)
{
    fl__map_remove(&server->invite_by_id, (int32_t)(invite - server->invites));
    sodium_memzero(invite, sizeof *invite);
}

// Few, and rarely made: looked through from end to end.
// Tokens of an invite name its address, so the server must know it as one of its own.
static bool make_ours(FlSealServer *server, FlAddress address)
{
    FlSealServerDef *def = &server->def;
    int32_t most = (int32_t)(sizeof def->address / sizeof def->address[0]);
    if (is_ours(server, address)) {
        return true;
    }
    if (def->address_count == most || !fl__address_writable(address)) {
        return false;
    }
    def->address[def->address_count++] = address;
    return true;
}

// Whoever came in with it and is not here could come back: the first to be forgotten.
static bool is_left_behind(const FlSealServer *server, const ServerInvite *invite)
{
    return invite->uses_left == 0 &&
           fl__map_find(&server->slot_by_client, fl__map_number(invite->guest)) < 0;
}

static ServerInvite *free_invite(FlSealServer *server, uint64_t unix_s)
{
    ServerInvite *left_behind = NULL;
    for (int32_t i = 0; i < server->def.invite_capacity; i++) {
        ServerInvite *invite = &server->invites[i];
        if (invite->used && !fl__invite_good(invite, unix_s)) {
            forget(server, invite);
        }
        if (!invite->used) {
            return invite;
        }
        left_behind = left_behind == NULL && is_left_behind(server, invite) ? invite : left_behind;
    }
    if (left_behind != NULL) {
        forget(server, left_behind);
    }
    return left_behind;
}

#define NEW_BYTES (8 + FL_SEAL_KEY_BYTES) // an id and a key

// The same every time: a keyed hash of what the invite is for, and of how often we tried.
static void derive(const FlSealServer *server, FlAddress address, uint64_t expire_s, uint32_t turn,
                   uint8_t out[NEW_BYTES])
{
    uint8_t bytes[64];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_bytes(&w, (const uint8_t *)"fairlead invite", 16);
    fl_writer_put(&w, server->def.protocol_id, 64);
    fl_writer_put(&w, expire_s, 64);
    fl_writer_put(&w, turn, 32);
    fl__address_write(&w, address);
    FL_ASSERT(!w.failed);
    crypto_generichash(out, NEW_BYTES, bytes, (unsigned long long)fl_writer_size(&w),
                       server->def.private_key, FL_SEAL_KEY_BYTES);
}

// An id that no invite has, and a key.
static void draw_invite(FlSealServer *server, FlAddress address, ServerInvite *made)
{
    uint8_t draw[NEW_BYTES];
    uint32_t turn = 0;
    do {
        if (server->def.lasting_invites) {
            derive(server, address, made->expire_s, turn++, draw);
        } else {
            fl__random_fill(&server->def.random, draw, 8);
        }
        made->id = fl__load_u64(draw) | HIGHEST_BIT;
    } while (fl__invite_find(server, made->id) != NULL);
    if (!server->def.lasting_invites) {
        fl__random_fill(&server->def.random, draw + 8, FL_SEAL_KEY_BYTES);
    }
    memcpy(made->key, draw + 8, sizeof made->key);
    sodium_memzero(draw, sizeof draw);
}

FlResult fl__seal_server_invite(FlSealServer *server, FlTime now, FlAddress address, uint32_t uses,
                                uint64_t expire_s, FlSealInvite *invite)
{
    memset(invite, 0, sizeof *invite);
    uint64_t unix_s = fl__server_unix(server, now);
    if (uses == 0 || expire_s <= unix_s || !make_ours(server, address)) {
        return FL_BAD_VALUE;
    }
    ServerInvite *made = free_invite(server, unix_s);
    if (made == NULL) {
        return FL_FULL;
    }
    *made =
        (ServerInvite){.used = true, .single = uses == 1, .uses_left = uses, .expire_s = expire_s};
    draw_invite(server, address, made);
    fl__map_put(&server->invite_by_id, fl__map_number(made->id), (int32_t)(made - server->invites));
    invite->protocol_id = server->def.protocol_id;
    invite->invite_id = made->id;
    invite->expire_s = expire_s;
    invite->uses = uses;
    invite->address = address;
    memcpy(invite->key, made->key, sizeof invite->key);
    return FL_OK;
}

void fl__seal_server_no_return(FlSealServer *server, FlSealPeer peer)
{
    const Slot *slot = fl__slot_of(server, peer);
    ServerInvite *invite = slot != NULL ? fl__invite_find(server, slot->invite_id) : NULL;
    if (invite != NULL) {
        invite->guest = 0;
    }
}

FlResult fl__seal_server_revoke(FlSealServer *server, uint64_t invite_id)
{
    ServerInvite *invite = fl__invite_find(server, invite_id);
    if (invite == NULL) {
        return FL_NOT_FOUND;
    }
    forget(server, invite);
    return FL_OK;
}

// ---------------------------------------------------------------- as text

static void write_check(const uint8_t *bytes, int32_t count, uint8_t check[CHECK_BYTES])
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, bytes, (unsigned long long)count, NULL, 0);
    memcpy(check, hash, CHECK_BYTES);
}

void fl__seal_invite_text(const FlSealInvite *invite, char text[FL_SEAL_INVITE_TEXT])
{
    uint8_t bytes[BINARY_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, 1, 8);
    fl_writer_put(&w, invite->protocol_id, 64);
    fl_writer_put(&w, invite->invite_id, 64);
    fl_writer_put(&w, invite->expire_s, 64);
    fl_writer_put(&w, invite->uses, 32);
    fl__address_write(&w, invite->address);
    fl_writer_bytes(&w, invite->key, FL_SEAL_KEY_BYTES);
    uint8_t check[CHECK_BYTES];
    write_check(bytes, fl_writer_size(&w), check);
    fl_writer_bytes(&w, check, CHECK_BYTES);
    FL_ASSERT(!w.failed);
    memcpy(text, TEXT_HEAD, TEXT_HEAD_BYTES);
    sodium_bin2base64(text + TEXT_HEAD_BYTES, FL_SEAL_INVITE_TEXT - TEXT_HEAD_BYTES, bytes,
                      (size_t)fl_writer_size(&w), VARIANT);
    fl_wipe(bytes, sizeof bytes);
}

static bool read_invite(FlReader *r, FlSealInvite *invite)
{
    uint64_t version = fl_reader_take(r, 8);
    invite->protocol_id = fl_reader_take(r, 64);
    invite->invite_id = fl_reader_take(r, 64);
    invite->expire_s = fl_reader_take(r, 64);
    invite->uses = (uint32_t)fl_reader_take(r, 32);
    invite->address = fl__address_read(r);
    const uint8_t *key = fl_reader_bytes(r, FL_SEAL_KEY_BYTES);
    if (key != NULL) {
        memcpy(invite->key, key, FL_SEAL_KEY_BYTES);
    }
    return !r->failed && version == 1 && (invite->invite_id & HIGHEST_BIT) != 0 &&
           invite->uses >= 1 && fl__address_writable(invite->address);
}

FlResult fl_seal_invite_parse(const char *text, FlSealInvite *invite)
{
    memset(invite, 0, sizeof *invite);
    uint8_t bytes[BINARY_BYTES];
    size_t count = 0;
    const char *end = NULL;
    if (strncmp(text, TEXT_HEAD, TEXT_HEAD_BYTES) != 0 ||
        sodium_base642bin(bytes, sizeof bytes, text + TEXT_HEAD_BYTES,
                          strlen(text) - TEXT_HEAD_BYTES, NULL, &count, &end, VARIANT) != 0 ||
        end[strspn(end, " \t\r\n")] != '\0') { // as lines come out of files and mails
        return FL_BAD_VALUE;
    }
    FlReader r;
    fl_reader_init(&r, bytes, (int32_t)count);
    bool good = read_invite(&r, invite);
    uint8_t check[CHECK_BYTES];
    write_check(bytes, r.bit_count / 8, check);
    const uint8_t *said = fl_reader_bytes(&r, CHECK_BYTES);
    good = good && said != NULL && memcmp(said, check, CHECK_BYTES) == 0 && fl_reader_left(&r) == 0;
    fl_wipe(bytes, sizeof bytes);
    if (!good) {
        fl_wipe(invite, sizeof *invite);
        return FL_BAD_VALUE;
    }
    return FL_OK;
}

// ---------------------------------------------------------------- at the client

#define TOKEN_LIFE_S 300 // long enough to connect, short enough for any server's limit

uint64_t fl__seal_invite_client(const FlSealInvite *invite, uint32_t number)
{
    // One player's: the same whenever it comes.
    return (invite->invite_id >> 32) << 32 | (invite->uses == 1 ? 0 : number);
}

FlResult fl_seal_invite_token(const FlSealInvite *invite, uint32_t number, uint64_t unix_s,
                              int32_t timeout_s, const uint8_t user_data[FL_SEAL_USER_BYTES],
                              const FlSealRandom *random, uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    memset(token, 0, FL_SEAL_TOKEN_BYTES);
    if (!fl__sodium_ready()) {
        return FL_SYSTEM;
    }
    if (unix_s >= invite->expire_s) {
        return FL_BAD_VALUE;
    }
    uint64_t left_s = invite->expire_s - unix_s;
    FlSealTokenDef def = {
        .protocol_id = invite->protocol_id,
        .client_id = fl__seal_invite_client(invite, number),
        .create_s = unix_s,
        .expire_s = unix_s + (left_s < TOKEN_LIFE_S ? left_s : TOKEN_LIFE_S),
        .timeout_s = timeout_s,
        .address_count = 1,
        .address = {invite->address},
    };
    memcpy(def.user_data, user_data, FL_SEAL_USER_BYTES);
    uint8_t nonce[NONCE_BYTES];
    fl__store_u64(nonce, invite->invite_id);
    fl__random_fill(random, nonce + 8, sizeof nonce - 8);
    return fl__token_make(&def, invite->key, nonce, random, token);
}
