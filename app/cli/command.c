// Finding and running commands.
#include "app/cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int command_fail(int status, const char *who, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", who);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

static void print_help(const char *program, const char *summary, const Command *commands,
                       size_t command_count)
{
    printf("Usage: %s COMMAND ...\n\n%s\n\nCommands:\n", program, summary);
    for (size_t i = 0; i < command_count; i++) {
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    }
    printf("\n%s COMMAND --help tells more about each.\n", program);
}

int command_dispatch(const char *program, const char *summary, const Command *commands,
                     size_t command_count, int argc, char **argv)
{
    if (argc < 2) {
        return command_fail(EXIT_BAD_INPUT, program, "a command is needed; try %s --help", program);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(program, summary, commands, command_count);
        return 0;
    }
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return command_fail(EXIT_BAD_INPUT, program, "unknown %s '%s'; try %s --help",
                        argv[1][0] == '-' ? "option" : "command", argv[1], program);
}
