// The option parser. Strict: what is not understood completely is refused with one line that says
// why.
#include "app/cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "lab/trace/number.h"

static int refuse(const CommandLine *line, const char *what, const char *name)
{
    return command_fail(EXIT_BAD_INPUT, line->command, "%s '%s'; try --help", what, name);
}

static int refuse_value(const CommandLine *line, const Option *option, const char *value)
{
    const char *dashes = option->name != NULL ? "--" : "";
    const char *name = option->name != NULL ? option->name : option->value;
    if (option->integer == NULL && option->number == NULL && option->numbers == NULL) {
        return command_fail(EXIT_BAD_INPUT, line->command, "%s%s: '%s' is not valid", dashes, name,
                            value);
    }
    char min[NUMBER_TEXT_BYTES];
    char max[NUMBER_TEXT_BYTES];
    number_text(option->min, min);
    number_text(option->max, max);
    return command_fail(EXIT_BAD_INPUT, line->command, "%s%s: '%s' is not %s from %s to %s", dashes,
                        name, value, option->integer != NULL ? "an integer" : "a number", min, max);
}

// ---------------------------------------------------------------- values

static bool in_range(const Option *option, double value)
{
    return value >= option->min && value <= option->max;
}

static bool read_integer(const Option *option, const char *value)
{
    int64_t integer = 0;
    if (!integer_read(value, value + strlen(value), &integer) ||
        !in_range(option, (double)integer)) {
        return false;
    }
    *option->integer = integer;
    return true;
}

static bool read_number(const Option *option, const char *value)
{
    double number = 0.0;
    if (!number_read(value, &number) || !in_range(option, number)) {
        return false;
    }
    *option->number = number;
    return true;
}

static bool read_numbers(const Option *option, const char *value)
{
    NumberList list = {.count = 0};
    for (;;) {
        Decimal decimal;
        const char *end = decimal_scan(value, &decimal);
        if (end == NULL || (*end != ',' && *end != '\0') || list.count == NUMBER_LIST_CAPACITY) {
            return false;
        }
        double number = decimal_value(&decimal, value);
        if (!in_range(option, number)) {
            return false;
        }
        list.values[list.count++] = number;
        if (*end == '\0') {
            *option->numbers = list;
            return true;
        }
        value = end + 1;
    }
}

static bool read_value(const Option *option, const char *value)
{
    if (option->integer != NULL) {
        return read_integer(option, value);
    }
    if (option->number != NULL) {
        return read_number(option, value);
    }
    if (option->numbers != NULL) {
        return read_numbers(option, value);
    }
    if (option->texts != NULL) {
        if (option->texts->count == option->texts->capacity) {
            return false;
        }
        option->texts->items[option->texts->count++] = value;
        return value[0] != '\0';
    }
    *option->text = value;
    return value[0] != '\0';
}

// ---------------------------------------------------------------- the line

static const Option *find_option(const CommandLine *line, const char *name, size_t length)
{
    for (size_t i = 0; i < line->option_count; i++) {
        const Option *option = &line->options[i];
        if (option->name != NULL && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

/// The next plain argument's entry, or NULL if all are taken.
static const Option *next_plain(const CommandLine *line, size_t *taken)
{
    size_t seen = 0;
    for (size_t i = 0; i < line->option_count; i++) {
        const Option *option = &line->options[i];
        if (option->name == NULL && (seen++ == *taken || option->texts != NULL)) {
            *taken = seen;
            return option;
        }
    }
    return NULL;
}

static int parse_plain(const CommandLine *line, const char *argument, size_t *taken)
{
    const Option *option = next_plain(line, taken);
    if (option == NULL) {
        return refuse(line, "one argument too many:", argument);
    }
    return read_value(option, argument) ? OPTIONS_GO_ON : refuse_value(line, option, argument);
}

/// Parses the option at argv[*at], and its value.
static int parse_option(const CommandLine *line, int argc, char **argv, int *at)
{
    const char *argument = argv[*at];
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const Option *option = argument[1] == '-' ? find_option(line, name, length) : NULL;
    if (option == NULL) {
        return refuse(line, "unknown option", argument);
    }
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (option->flag != NULL && option->integer != NULL) {
        *option->flag = true;
        bool follows = value == NULL && *at + 1 < argc && isdigit((unsigned char)argv[*at + 1][0]);
        value = follows ? argv[++*at] : value;
        return value == NULL || read_value(option, value) ? OPTIONS_GO_ON
                                                          : refuse_value(line, option, value);
    }
    if (option->flag != NULL) {
        *option->flag = true;
        return value == NULL ? OPTIONS_GO_ON : refuse(line, "no value belongs to", argument);
    }
    if (value == NULL) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) {
            return refuse(line, "a value is needed after", argument);
        }
        value = argv[++*at];
    }
    return read_value(option, value) ? OPTIONS_GO_ON : refuse_value(line, option, value);
}

static int check_required(const CommandLine *line, size_t taken)
{
    size_t plain = 0;
    for (size_t i = 0; i < line->option_count; i++) {
        const Option *option = &line->options[i];
        if (option->name == NULL && plain++ >= taken && option->required) {
            return command_fail(EXIT_BAD_INPUT, line->command, "%s is needed; try --help",
                                option->value);
        }
    }
    return OPTIONS_GO_ON;
}

// ---------------------------------------------------------------- help

static void print_option(const char *left, const char *help, const char *limits)
{
    printf("  %-20s ", left);
    for (; *help != '\0'; help++) {
        putchar(*help);
        if (*help == '\n') {
            printf("%23s", "");
        }
    }
    printf("%s\n", limits);
}

/// " [2 to 2000]": the option's limits, from the table that values are checked with. A maximum that
/// nobody comes near is left out.
static void limits_text(const Option *option, char *text, size_t bytes)
{
    char min[NUMBER_TEXT_BYTES];
    char max[NUMBER_TEXT_BYTES];
    bool number = option->integer != NULL || option->number != NULL || option->numbers != NULL;
    number_text(option->min, min);
    number_text(option->max, max);
    text[0] = '\0';
    if (number && option->max < 1e6) {
        snprintf(text, bytes, " [%s to %s]", min, max);
    } else if (number && option->min > 0.0) {
        snprintf(text, bytes, " [%s or more]", min);
    }
}

static void print_help(const CommandLine *line)
{
    printf("Usage: %s", line->command);
    for (size_t i = 0; i < line->option_count; i++) {
        const Option *option = &line->options[i];
        if (option->name == NULL) {
            printf(option->required ? " %s" : " [%s]", option->value);
        }
    }
    printf(" [options]\n\n%s\n\n", line->summary);
    for (size_t i = 0; i < line->option_count; i++) {
        const Option *option = &line->options[i];
        if (option->help == NULL) {
            continue;
        }
        char left[64];
        char limits[2 * NUMBER_TEXT_BYTES + 16];
        snprintf(left, sizeof left, "%s%s%s%s", option->name != NULL ? "--" : "",
                 option->name != NULL ? option->name : "",
                 option->name != NULL && option->value != NULL ? " " : "",
                 option->value != NULL ? option->value : "");
        limits_text(option, limits, sizeof limits);
        print_option(left, option->help, limits);
    }
    print_option("--help", "this page", "");
}

int options_parse(const CommandLine *line, int argc, char **argv)
{
    size_t taken = 0;
    bool plain_only = false;
    for (int i = 1; i < argc; i++) {
        bool dashed = argv[i][0] == '-' && argv[i][1] != '\0' && !plain_only;
        if (dashed && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            print_help(line);
            return 0;
        }
        if (dashed && strcmp(argv[i], "--") == 0) {
            plain_only = true;
            continue;
        }
        int status =
            dashed ? parse_option(line, argc, argv, &i) : parse_plain(line, argv[i], &taken);
        if (status != OPTIONS_GO_ON) {
            return status;
        }
    }
    return check_required(line, taken);
}
