/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_profile.c - onyx profile: where the time goes, per node and per operator. */
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"

typedef struct {
  const char *name, *op, *provider;
  double us, flops;
  uint64_t bytes;
  size_t calls;
} row;

typedef struct {
  row *rows;
  size_t n, capacity;
} table;

static row *find(table *t, const char *name, const char *op) {
  for (size_t i = 0; i < t->n; i++)
    if (strcmp(t->rows[i].op, op) == 0 && (!name || strcmp(t->rows[i].name, name) == 0)) return &t->rows[i];
  if (t->n == t->capacity) {
    size_t capacity = t->capacity ? t->capacity * 2 : 256;
    row *grown = realloc(t->rows, capacity * sizeof *grown);
    if (!grown) return NULL;
    t->rows = grown, t->capacity = capacity;
  }
  row *r = &t->rows[t->n++];
  *r = (row){.name = name ? name : "", .op = op};
  return r;
}

static void add(table *t, const char *name, const ox_node_time *e) {
  row *r = find(t, name, e->op);
  if (!r) return;
  r->provider = e->provider, r->us += e->duration_us, r->flops += e->flops, r->bytes += e->output_bytes, r->calls++;
}

static int slower(const void *a, const void *b) {
  double x = ((const row *)a)->us, y = ((const row *)b)->us;
  return (x < y) - (x > y);
}

static void print(table *t, const char *title, double total, size_t runs, size_t most) {
  qsort(t->rows, t->n, sizeof *t->rows, slower);
  printf("\n%-34s %-22s %9s %7s %7s %9s\n", title, "operator", "ms / run", "share", "calls", "GFLOP/s");
  for (size_t i = 0; i < t->n && i < most; i++) {
    const row *r = &t->rows[i];
    printf("%-34.34s %-22.22s %9.3f %6.1f%% %7zu ", r->name[0] ? r->name : "", r->op, r->us / 1e3 / (double)runs, 100 * r->us / total,
           r->calls / runs);
    if (r->flops > 0 && r->us > 0) printf("%9.1f\n", r->flops / r->us / 1e3);
    else printf("%9s\n", "");
  }
}

static void print_json(const table *t, double total, size_t runs) {
  printf("{\"runs\": %zu, \"total_ms\": %.4f, \"nodes\": [", runs, total / 1e3 / (double)runs);
  for (size_t i = 0; i < t->n; i++) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, t->rows[i].name);
    printf(", \"op\": \"%s\", \"provider\": \"%s\", \"ms\": %.5f, \"calls\": %zu}", t->rows[i].op, t->rows[i].provider,
           t->rows[i].us / 1e3 / (double)runs, t->rows[i].calls / runs);
  }
  printf("]}\n");
}

static ox_status *go(ox_session *s, cli_inputs *in, size_t runs) {
  ox_value *out[CLI_MOST] = {0};
  ox_status *st = NULL;
  size_t n = ox_session_output_count(s);
  cli_progress bar;
  cli_progress_start(&bar, "profiling");
  for (size_t i = 0; i < runs + 3 && !st; i++) {
    cli_progress_at(&bar, (double)i / (double)(runs + 3), i);
    if (i == 3) ox_session_profile_start(s); /* the first runs warm up */
    st = ox_session_run(s, NULL, in->names, (const ox_value *const *)in->values, in->n, NULL, out, n);
    for (size_t k = 0; k < n; k++) ox_value_release(out[k]), out[k] = NULL;
  }
  ox_session_profile_stop(s);
  cli_progress_end(&bar);
  return st;
}

static void tell(ox_session *s, size_t runs, size_t most, bool json) {
  table nodes = {0}, ops = {0};
  double total = 0;
  ox_node_time e;
  for (size_t i = 0; ox_session_profile_event(s, i, &e); i++) {
    add(&nodes, e.name, &e), add(&ops, NULL, &e);
    total += e.duration_us;
  }
  if (json) {
    print_json(&nodes, total, runs);
  } else {
    printf("%.3f ms per run over %zu runs", total / 1e3 / (double)runs, runs);
    print(&ops, "", total, runs, 20);
    print(&nodes, "node", total, runs, most);
  }
  free(nodes.rows);
  free(ops.rows);
}

static int run(int argc, char **argv) {
  static cli_inputs in;
  static cli_model m;
  const char *runs_text = NULL, *trace = NULL, *top = NULL;
  const cli_option options[] = {CLI_MODEL_ROWS(&m), {"--runs", NULL, &runs_text, NULL}, {"--trace", NULL, &trace, NULL},
                                {"--top", NULL, &top, NULL}};
  long long runs = 10, most = 15;
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &m.paths)) return EXIT_USAGE;
  if (!cli_parse_int("--runs", runs_text, 1, &runs) || !cli_parse_int("--top", top, 0, &most)) return EXIT_USAGE;
  int code = cli_model_open(&m, "profile", false);
  ox_status *st = code == EXIT_OK ? cli_model_inputs(&m, &in) : NULL;
  if (code == EXIT_OK && !st) st = go(m.session, &in, (size_t)runs);
  if (code == EXIT_OK && !st) tell(m.session, (size_t)runs, (size_t)most, m.json);
  if (code == EXIT_OK && !st && trace) st = ox_session_profile_write(m.session, trace);
  if (st) code = cli_fail(st);
  cli_inputs_release(&in);
  cli_model_close(&m);
  return code;
}

const cli_command cmd_profile = {
    "profile", "shows where a model's time goes",
    "usage: onyx profile MODEL|DIR [options]\n\n"
    "Times every node over some runs and prints the operators and nodes that take longest.\n\n"
    "  --runs N        runs to average over (10)\n"
    "  --top N         nodes to list (15)\n"
    "  --trace FILE    also write a trace for Chrome (chrome://tracing) or Perfetto\n"
    CLI_MODEL_HELP,
    run};
