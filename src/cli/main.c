/* SPDX-License-Identifier: Apache-2.0
 * cli/main.c - the onyx command: picks a subcommand. The only reader of the generated list. */
#include <string.h>

#include "cli.h"

#define OX_COMMANDS(stem) extern const cli_command stem;
#include "command_list.inc" /* the build writes OX_COMMANDS(cmd_<name>) for each cmd_<name>.c, sorted */
#undef OX_COMMANDS

static const cli_command *const commands[] = {
#define OX_COMMANDS(stem) &stem,
#include "command_list.inc"
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int usage(FILE *to, int code) {
  fprintf(to, "onyx %s - runs ONNX models\n\nusage: onyx COMMAND [ARGUMENT]...\n\n", ox_version());
  for (size_t i = 0; i < N_COMMANDS; i++) fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(to, "\n`onyx COMMAND --help` tells more.\n");
  return code;
}

static int run_command(const cli_command *c, int argc, char **argv) {
  cli_operands operands;
  switch (cli_parse(c, argc, argv, &operands)) {
    case CLI_GO:
      return c->run(&operands);
    case CLI_HELP:
      cli_print_help(c, stdout);
      return EXIT_OK;
    default:
      return EXIT_USAGE;
  }
}

static const cli_command *find(const char *name) {
  for (size_t i = 0; i < N_COMMANDS; i++)
    if (strcmp(name, commands[i]->name) == 0) return commands[i];
  fprintf(stderr, "onyx: no such command: %s (see onyx --help)\n", name);
  return NULL;
}

/* `onyx help`, `onyx help COMMAND` */
static int help(const char *name) {
  if (!name) return usage(stdout, EXIT_OK);
  const cli_command *c = find(name);
  if (!c) return EXIT_USAGE;
  cli_print_help(c, stdout);
  return EXIT_OK;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) return usage(stderr, EXIT_USAGE);
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
    return help(argv[2]);
  if (strcmp(argv[1], "--version") == 0) {
    printf("onyx %s\n", ox_version());
    return EXIT_OK;
  }
  const cli_command *c = find(argv[1]);
  return c ? run_command(c, argc - 1, argv + 1) : EXIT_USAGE;
}

int main(int argc, char **argv) {
  int code = dispatch(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "onyx: standard output cannot be written\n");
  return EXIT_FAILED;
}
