/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_profile.c - onyx profile: where the time goes, per operator, form and node, and where it is lost. */
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"
#include "profile_table.h"

static struct {
  cli_model model;
  long long runs, top;
  char *trace, *order;
} args = {.model.args.level = OX_OPTIMIZE_ALL, .runs = 10, .top = 30, .order = "lost"};

static const cli_option options[] = {
    CLI_INT("runs", "N", &args.runs, 1, UINT32_MAX, "runs to average over"),
    CLI_INT("top", "N", &args.top, 0, UINT32_MAX, "nodes to list"),
    CLI_TEXT("order", "WHAT", &args.order, "what comes first: lost, time or graph (as in the model); lost unless given"),
    CLI_TEXT("trace", "FILE", &args.trace, "also write a trace for Chrome (chrome://tracing) or Perfetto"),
    CLI_MODEL_OPTIONS(args.model),
};

static bool read_order(cli_profile_order *out) {
  static const char *const names[] = {"lost", "time", "graph"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(args.order, names[i]) == 0) {
      *out = (cli_profile_order)i;
      return true;
    }
  fprintf(stderr, "onyx: --order wants lost, time or graph, got '%s'\n", args.order);
  return false;
}

static ox_status *go(cli_model *m, size_t runs) {
  ox_status *st = NULL;
  cli_progress bar;
  cli_progress_start(&bar, "profiling");
  for (size_t i = 0; i < runs + 3 && !st; i++) {
    cli_progress_at(&bar, (double)i / (double)(runs + 3), i);
    if (i == 3) ox_session_profile_start(m->session); /* the first runs warm up */
    st = cli_model_run(m);
    cli_model_drop_outputs(m);
  }
  ox_session_profile_stop(m->session);
  cli_progress_end(&bar);
  return st;
}

/* 10 ms for each figure, a tenth of a second in all. */
static ox_status *measure_limits(cli_limits *out) {
  uint32_t threads = args.model.args.threads ? (uint32_t)args.model.args.threads : ox_pool_default_size();
  const cli_limits_opts opts = {
      .cap = getenv("OX_ISA"), .n_threads = threads, .tries_ms = 10, .most_bytes = (size_t)64 << 20};
  return cli_limits_measure(&opts, out) ? NULL : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
}

static ox_status *tell(const cli_model *m, cli_profile *p, cli_profile_order order) {
  if (!cli_profile_fill(p, m->session, (size_t)args.runs, order))
    return ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  if (m->json)
    cli_profile_print_json(p);
  else
    cli_profile_print(p, (size_t)args.top);
  return NULL;
}

static ox_status *work(cli_model *m, cli_profile_order order) {
  cli_profile p = {0};
  ox_status *st = cli_model_fill(m);
  if (!st) st = measure_limits(&p.limits);
  if (!st) st = go(m, (size_t)args.runs);
  if (!st) st = tell(m, &p, order);
  if (!st && args.trace) st = ox_session_profile_write(m->session, args.trace);
  cli_profile_free(&p);
  return st;
}

static int run(const cli_operands *operands) {
  cli_profile_order order;
  if (!read_order(&order)) return EXIT_USAGE;
  int code = cli_model_open(&args.model, operands, false);
  ox_status *st = code == EXIT_OK ? work(&args.model, order) : NULL;
  if (st) code = cli_fail(st);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_profile = {
    .name = "profile",
    .summary = "shows where a model's time goes",
    .about =
        "Times every node over some runs and compares that with the least time this machine would need. Lists\n"
        "operators, forms (how something is computed) and nodes; those that lose most time come first.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
