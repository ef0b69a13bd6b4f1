/* SPDX-License-Identifier: Apache-2.0
 * cli/args.h - a command is a row: its name, its options as a table, its function. Parsing and --help read the table.
 */
#ifndef OX_CLI_ARGS_H
#define OX_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CLI_MOST = 256 };

/* The values of an option that may be repeated, in order. They point into argv and may be cut up in place. */
typedef struct cli_list {
  char *items[CLI_MOST];
  size_t n;
} cli_list;

/* One option; the rows below make one. The pointer that is set says where the value goes and what kind it is; what a
 * number holds before parsing is its default, which --help shows. */
typedef struct cli_option {
  const char *name; /* without dashes */
  const char *arg;  /* what stands for the value in --help; NULL: a flag */
  const char *help; /* further lines after a '\n' */
  bool *flag;
  char **text;
  cli_list *list; /* may be repeated */
  long long *integer, least, most;
  double *number; /* not negative */
  char letter;    /* also "-o"; 0: none */
} cli_option;

#define CLI_FLAG(n, target, says) \
  { .name = n, .help = says, .flag = target }
#define CLI_TEXT(n, value, target, says) \
  { .name = n, .arg = value, .help = says, .text = target }
#define CLI_LIST(n, value, target, says) \
  { .name = n, .arg = value, .help = says, .list = target }
#define CLI_NUMBER(n, value, target, says) \
  { .name = n, .arg = value, .help = says, .number = target }
#define CLI_INT(n, value, target, from, to, says) \
  { .name = n, .arg = value, .help = says, .integer = target, .least = from, .most = to }

/* What is left besides the options: paths. */
typedef struct cli_operands {
  char **items;
  size_t n;
} cli_operands;

/* src/cli/cmd_<name>.c defines `const cli_command cmd_<name>`; the build finds it. */
typedef struct cli_command {
  const char *name, *summary, *about;
  const char *operand; /* what it works on, for --help; NULL: it takes none */
  bool many;           /* one operand or more; else exactly one */
  const cli_option *options;
  size_t n_options;
  int (*run)(const cli_operands *operands); /* the exit code */
} cli_command;

/* argv[0] is the command's name. CLI_WRONG after printing what is wrong. Changes argv. */
typedef enum cli_parsed { CLI_GO, CLI_HELP, CLI_WRONG } cli_parsed;
cli_parsed cli_parse(const cli_command *c, int argc, char **argv, cli_operands *out_operands);
/* What `onyx COMMAND --help` prints. */
void cli_print_help(const cli_command *c, FILE *to);

#endif
