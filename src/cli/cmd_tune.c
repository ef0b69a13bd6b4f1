/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_tune.c - onyx tune: measures in which way a model's operators are fastest on this machine. */
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"

static struct {
  cli_model model;
  char *output;
} args = {.model.args.level = OX_OPTIMIZE_ALL, .model.args.tune = true};

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .arg = "FILE",
     .help = "the file to add the measurements to, for --tune-cache",
     .text = &args.output},
    CLI_MODEL_OPTIONS(args.model),
};

/* The engine writes the file when the session is released. */
static ox_status *measure(cli_model *m) {
  ox_status *st = cli_model_fill(m);
  if (!st) st = cli_model_run(m);
  cli_model_drop_outputs(m);
  ox_session_release(m->session);
  m->session = NULL;
  return st;
}

/* ---- what the file says: "task TASK|WAY NS|WAY NS ..." (docs/tuning.md) ---- */

static void print_way(char *way) {
  char *blank = strrchr(way, ' ');
  if (!blank) return;
  *blank = 0;
  printf("%12.1f us  %s\n", strtod(blank + 1, NULL) / 1e3, way);
}

static void put_way(ox_json *j, char *way) {
  char *blank = strrchr(way, ' ');
  if (!blank) return;
  *blank = 0;
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "way"), way);
  ox_json_double(ox_json_key(j, "us"), strtod(blank + 1, NULL) / 1e3);
  ox_json_end_object(j);
}

static void tell_task(char *line, ox_json *j) {
  char *rest, *task = strtok_r(line, "|", &rest), *way;
  if (j) {
    ox_json_begin_object(j);
    ox_json_string(ox_json_key(j, "task"), task);
    ox_json_begin_array(ox_json_key(j, "ways"));
  } else {
    printf("%s\n", task);
  }
  while ((way = strtok_r(NULL, "|", &rest))) j ? put_way(j, way) : print_way(way); /* the fastest first */
  if (!j) return;
  ox_json_end_array(j);
  ox_json_end_object(j);
}

static ox_status *tell(bool json) {
  static const char word[] = "task ";
  size_t n;
  char *text = (char *)cli_read_file(args.output, &n), *rest;
  if (!text) return ox_task_error(OX_FAIL, "the file of measurements was not written");
  ox_json j = cli_json();
  if (json) ox_json_begin_array(&j);
  char *whole = realloc(text, n + 1);
  if (!whole) {
    free(text);
    return ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  }
  whole[n] = 0;
  for (char *line = strtok_r(whole, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    if (strncmp(line, word, sizeof word - 1) == 0) tell_task(line + sizeof word - 1, json ? &j : NULL);
  if (json) ox_json_end_array(&j), ox_json_end(&j);
  free(whole);
  return NULL;
}

static int run(const cli_operands *operands) {
  if (!args.output) {
    fprintf(stderr, "onyx tune: an option is missing: --output (see onyx tune --help)\n");
    return EXIT_USAGE;
  }
  args.model.args.tune_cache = args.output;
  int code = cli_model_open(&args.model, operands, false);
  ox_status *st = code == EXIT_OK ? measure(&args.model) : NULL;
  if (!st && code == EXIT_OK) st = tell(args.model.json);
  if (st) code = cli_fail(st);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_tune = {
    .name = "tune",
    .summary = "measures the ways to compute a model's operators",
    .about =
        "Runs the model once and measures, for each operator that can be computed in several ways, which of them is\n"
        "fastest on this machine. The other commands use the result with --tune-cache FILE.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
