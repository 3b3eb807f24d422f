// What a player says about itself, as it travels: in the user data of an invite's token, or in
// JOIN.

// ABOUT: my name, and what the game says of me.                  spec/WIRE.md section 7.1
//
//   bytes  field        unit      valid
//   1      name_count   -         0..31
//   n      name         -         UTF-8, without its closing zero; no zero in it
//   1      about_count  -         0..192
//   n      about_me     -         the game's own
#include "kernel.h"

int32_t fl__about_write(const FlSessionDef *def, uint8_t bytes[FL__ABOUT])
{
    size_t name = def->name != NULL ? strlen(def->name) : 0;
    size_t about = (size_t)def->about_bytes;
    bytes[0] = (uint8_t)name;
    if (name > 0) {
        memcpy(bytes + 1, def->name, name);
    }
    bytes[1 + name] = (uint8_t)about;
    if (about > 0) {
        memcpy(bytes + 2 + name, def->about_me, about);
    }
    return (int32_t)(2 + name + about);
}

// Bytes of the character that begins there; 0: it is none, or a control character.
static int32_t shown_bytes(const uint8_t *at)
{
    uint32_t lead = at[0];
    if (lead < 0x80) {
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    }
    int32_t count = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
    uint32_t code = lead & (0xffu >> (count + 1));
    for (int32_t i = 1; i < count; i++) { // a closing zero is none of these
        if ((at[i] & 0xc0u) != 0x80u) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[] = {0xa0, 0x800, 0x10000}; // below 0xa0 are controls, too
    bool sound = lead >= 0xc2 && lead < 0xf5 && code >= least[count - 2] && code < 0x110000;
    return sound && !(code >= 0xd800 && code < 0xe000) ? count : 0;
}

void fl__text_clean(char *text)
{
    uint8_t *at = (uint8_t *)text;
    while (*at != 0) {
        int32_t count = shown_bytes(at);
        if (count == 0) {
            *at = '?';
        }
        at += count > 0 ? count : 1;
    }
}

bool fl__about_read(const uint8_t *bytes, int32_t count, FlPeerStatus *status)
{
    memset(status->name, 0, sizeof status->name);
    status->about_bytes = 0;
    int32_t name = count > 0 ? bytes[0] : FL_NAME_BYTES;
    if (name >= FL_NAME_BYTES || 1 + name >= count || memchr(bytes + 1, 0, (size_t)name) != NULL) {
        return false;
    }
    int32_t about = bytes[1 + name];
    if (about > FL_ABOUT_BYTES || 2 + name + about > count) {
        return false;
    }
    memcpy(status->name, bytes + 1, (size_t)name);
    fl__text_clean(status->name);
    memcpy(status->about_me, bytes + 2 + name, (size_t)about);
    status->about_bytes = about;
    return true;
}
