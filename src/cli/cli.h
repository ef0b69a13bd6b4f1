/* SPDX-License-Identifier: Apache-2.0
 * cli/cli.h - what the commands share. The command line sees public headers only. */
#ifndef OX_CLI_CLI_H
#define OX_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "onyx/onyx.h"

/* Exit codes: 0 all well, 1 the work failed, 2 wrong usage. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct cli_command {
  const char *name, *summary, *help;
  int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} cli_command;

extern const cli_command cmd_run, cmd_bench, cmd_test, cmd_info, cmd_profile, cmd_optimize, cmd_providers;

/* ---- options (args.c) ---- */

/* One option: "--threads N". |value| points to a const char *, flags to a bool; repeated ones are gathered. */
typedef struct cli_option {
  const char *name;                  /* with its dashes */
  bool *flag;
  const char **value;
  struct cli_list *list;
} cli_option;

enum { CLI_MOST = 256 };
typedef struct cli_list {
  const char *items[CLI_MOST];
  size_t n;
} cli_list;

/* Splits argv into options and positional arguments. Prints what is wrong and returns false. --help is left to main. */
bool cli_parse(int argc, char **argv, const cli_option *options, size_t n_options, cli_list *positional);
bool cli_parse_double(const char *name, const char *text, double *out); /* NULL text: out is left as it is */
bool cli_parse_int(const char *name, const char *text, long long least, long long *out);

/* ---- providers and sessions (open.c) ---- */

/* "NAME[:k=v,...]" into specs that |session opts| can point to; false after printing what is wrong. */
typedef struct cli_providers {
  ox_provider_spec specs[8];
  const char *keys[8][16], *values[8][16];
  char text[8][512];
  size_t n;
} cli_providers;
bool cli_providers_parse(const cli_list *list, cli_providers *out);

/* Prints "onyx: <text>" for a status on stderr and frees it; returns EXIT_FAILED. */
int cli_fail(ox_status *st);

/* ---- files (files.c) ---- */

/* The whole file in malloc'd memory, NULL if it cannot be read. */
unsigned char *cli_read_file(const char *path, size_t *out_n);
bool cli_is_dir(const char *path);
bool cli_exists(const char *path);

/* A serialized TensorProto, SequenceProto ... as a value; false with the reason in |why|. */
bool cli_load_pb(ox_env *env, const char *path, uint32_t kind, ox_value **out_value, char *why, size_t n_why);

/* ---- comparing (compare.c) ---- */
typedef struct cli_tolerance {
  double rtol, atol, atol_max; /* |got - want| <= rtol * |want| + atol + atol_max * max |want| */
  bool shapes_only;            /* random outputs: types and shapes are compared, values are not */
  double cosine;               /* above 0: instead, equal position of the maximum and at least this cosine */
} cli_tolerance;
/* True if equal; else |why| (of |n| bytes) tells the first difference. */
bool cli_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why, size_t n);

/* ---- progress (progress.c): a bar on stderr, on a terminal only, once the work has taken a second ---- */
typedef struct cli_progress {
  const char *what;
  bool terminal;
  double start_ms, shown_ms;
} cli_progress;
void cli_progress_start(cli_progress *p, const char *what);
void cli_progress_at(cli_progress *p, double part, size_t done); /* part below 0: not known, |done| is shown */
void cli_progress_end(cli_progress *p);

/* ---- time ---- */
double cli_now_ms(void);
double cli_peak_rss_mb(void);

/* ---- JSON strings ---- */
void cli_json_string(FILE *f, const char *s);

#endif
