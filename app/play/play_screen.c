// The terminal view. Raw keys by termios, a picture by ANSI escapes on the alternate screen.
//
// Whatever happens, the terminal is given back: the one piece of global state here is what must be
// restored, because exit and SIGABRT take no arguments.
#define _GNU_SOURCE // sigaction, ioctl, termios
#include "app/play/play_screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DRIVE_HOLD FL_MS(600) // keyboards wait about half a second before they repeat
#define TURN_HOLD FL_MS(250)
#define FIRE_HOLD FL_MS(100)
#define FIGURE_ROWS 3 // and the hint
#define SCREEN_BEGIN "\033[?1049h\033[?25l\033[2J"
#define SCREEN_END "\033[?25h\033[?1049l"

// ---------------------------------------------------------------- giving back

static struct {
    struct termios before;
    volatile sig_atomic_t keys;
    volatile sig_atomic_t screen;
    bool at_exit;
} terminal;

// Only what a signal handler may call.
static void restore(void)
{
    if (terminal.keys) {
        terminal.keys = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    }
    if (terminal.screen) {
        terminal.screen = 0;
        if (write(STDOUT_FILENO, SCREEN_END, sizeof SCREEN_END - 1) < 0) {
            return; // nobody there any more
        }
    }
}

static void on_abort(int number)
{
    restore();
    (void)raise(number); // its handler is the default one by now
}

static void begin_keys(void)
{
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &terminal.before) != 0) {
        return;
    }
    now = terminal.before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO); // Ctrl-C stays a signal
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0) {
        terminal.keys = 1;
    }
}

static void write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, count);
        if (done < 0 && errno != EINTR) {
            return; // a picture less
        }
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
}

void play_screen_open(PlayScreen *screen)
{
    *screen = (PlayScreen){0};
    if (isatty(STDOUT_FILENO) != 1) {
        return;
    }
    if (!terminal.at_exit) {
        terminal.at_exit = true;
        (void)atexit(restore);
        struct sigaction action = {.sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND};
        sigaction(SIGABRT, &action, NULL);
    }
    fflush(stdout);
    screen->drawing = true;
    terminal.screen = 1;
    write_all(SCREEN_BEGIN, sizeof SCREEN_BEGIN - 1);
    if (isatty(STDIN_FILENO) == 1) {
        begin_keys();
        screen->keys = terminal.keys != 0;
    }
}

void play_screen_close(PlayScreen *screen)
{
    restore();
    free(screen->picture.text);
    *screen = (PlayScreen){0};
}

// ---------------------------------------------------------------- keys

static void press(PlayScreen *screen, int key, FlTime now)
{
    switch (key) {
    case 'w':
    case 'A': // the last letter of an arrow
        screen->forwards = now + DRIVE_HOLD;
        screen->backwards = 0;
        break;
    case 's':
    case 'B':
        screen->backwards = now + DRIVE_HOLD;
        screen->forwards = 0;
        break;
    case 'a':
    case 'D':
        screen->left = now + TURN_HOLD;
        screen->right = 0;
        break;
    case 'd':
    case 'C':
        screen->right = now + TURN_HOLD;
        screen->left = 0;
        break;
    case ' ':
        screen->fire = now + FIRE_HOLD;
        break;
    default:
        break;
    }
}

// Arrows come as ESC [ A or ESC O A; letters as themselves.
static bool read_keys(PlayScreen *screen, const char *bytes, ssize_t count, FlTime now)
{
    for (ssize_t i = 0; i < count; i++) {
        bool arrow =
            bytes[i] == '\033' && i + 2 < count && (bytes[i + 1] == '[' || bytes[i + 1] == 'O');
        if (arrow) {
            press(screen, bytes[i + 2], now);
            i += 2;
        } else if (bytes[i] == 'q' || bytes[i] == 'Q') {
            return true;
        } else if (bytes[i] < 'A' || bytes[i] > 'D') { // those are arrows' only
            press(screen, bytes[i], now);
        }
    }
    return false;
}

bool play_screen_keys(PlayScreen *screen, PlayTape *tape, FlTime now, PlayKeys *keys)
{
    char bytes[64];
    ssize_t count = screen->keys ? read(STDIN_FILENO, bytes, sizeof bytes) : 0;
    count = play_tape_keys(tape, bytes, (int32_t)count, (int32_t)sizeof bytes);
    bool quit = count > 0 && read_keys(screen, bytes, count, now);
    keys->drive = now < screen->forwards ? 1.0 : now < screen->backwards ? -1.0 : 0.0;
    keys->turn = now < screen->left ? 1.0 : now < screen->right ? -1.0 : 0.0;
    keys->fire = now < screen->fire;
    return quit;
}

// ---------------------------------------------------------------- the picture

// An invite may take more than one.
static int32_t hint_rows(const char *hint, int32_t columns)
{
    return (int32_t)(strlen(hint) / (size_t)columns) + 1;
}

static void measure(PlayPicture *picture, const char *hint)
{
    picture->columns = 80;
    picture->rows = 24;
    struct winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        picture->columns = window.ws_col < 20 ? 20 : window.ws_col > 400 ? 400 : window.ws_col;
        picture->rows = window.ws_row;
    }
    picture->rows -= FIGURE_ROWS + hint_rows(hint, picture->columns);
    picture->rows = picture->rows < 4 ? 4 : picture->rows > 200 ? 200 : picture->rows;
}

// A line of at most `columns` characters; the rest of the terminal's line is wiped. A full one has
// no rest: there some terminals would wipe its last character.
static void write_line(const char *line, size_t length, int32_t columns)
{
    size_t most = (size_t)columns;
    write_all(line, length < most ? length : most);
    write_all(length < most ? "\033[K\n" : "\n", length < most ? 4 : 1);
}

// A game's picture, each of its lines as above. More than there is room for would scroll.
static void write_picture(const PlayPicture *picture)
{
    const char *text = picture->text;
    for (int32_t row = 0; *text != '\0' && row < picture->rows; row++) {
        size_t length = strcspn(text, "\n");
        write_line(text, length, picture->columns);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

void play_screen_draw(PlayScreen *screen, const PlayNode *node, PlayMeter *meter, const char *hint,
                      FlTime now)
{
    PlayPicture *picture = &screen->picture;
    measure(picture, hint);
    if (!node->game->draw(node, picture)) {
        return;
    }
    write_all("\033[H", 3);
    write_picture(picture);
    char line[512];
    play_figures_line(play_meter_read(meter, node, now), line, sizeof line);
    write_line(line, strlen(line), picture->columns);
    if (node->own_count > 0) {
        play_figures_errors(node, now, line, sizeof line);
    } else {
        snprintf(line, sizeof line, "no %s of our own", node->game->thing);
    }
    write_line(line, strlen(line), picture->columns);
    play_figures_drops(node, now, line, sizeof line);
    write_line(line, strlen(line), picture->columns);
    write_all(hint, strlen(hint));
    write_all("\033[J", 3); // and what is below, when there is less of it than before
}
