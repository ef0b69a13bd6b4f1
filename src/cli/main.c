/* SPDX-License-Identifier: Apache-2.0
 * cli/main.c - the onyx command: picks a subcommand. */
#include <string.h>

#include "cli.h"

static const cli_command *const commands[] = {&cmd_run,     &cmd_bench,    &cmd_test,     &cmd_info,
                                             &cmd_profile, &cmd_optimize, &cmd_providers};

static int usage(FILE *to, int code) {
  fprintf(to, "onyx %s - runs ONNX models\n\nusage: onyx COMMAND [ARGUMENTS]\n\n", ox_version());
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(to, "\n`onyx COMMAND --help` tells more.\n");
  return code;
}

int main(int argc, char **argv) {
  if (argc < 2) return usage(stderr, EXIT_USAGE);
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) return usage(stdout, EXIT_OK);
  if (strcmp(argv[1], "--version") == 0) {
    printf("onyx %s\n", ox_version());
    return EXIT_OK;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(argv[1], commands[i]->name) != 0) continue;
    for (int k = 2; k < argc; k++)
      if (strcmp(argv[k], "--help") == 0) {
        fputs(commands[i]->help, stdout);
        return EXIT_OK;
      }
    return commands[i]->run(argc - 1, argv + 1);
  }
  fprintf(stderr, "onyx: no such command: %s\n", argv[1]);
  return usage(stderr, EXIT_USAGE);
}
