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
  if (t->n) qsort(t->rows, t->n, sizeof *t->rows, slower);
  printf("\n%-34s %-22s %9s %7s %7s %9s\n", title, "operator", "ms / run", "share", "calls", "GFLOP/s");
  for (size_t i = 0; i < t->n && i < most; i++) {
    const row *r = &t->rows[i];
    printf("%-34.34s %-22.22s %9.3f %6.1f%% %7zu ", r->name[0] ? r->name : "", r->op, r->us / 1e3 / (double)runs,
           100 * r->us / total, r->calls / runs);
    if (r->flops > 0 && r->us > 0)
      printf("%9.1f\n", r->flops / r->us / 1e3);
    else
      printf("%9s\n", "");
  }
}

static void print_json(const table *t, double total, size_t runs) {
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_uint(ox_json_key(&j, "runs"), runs);
  ox_json_double(ox_json_key(&j, "total_ms"), total / 1e3 / (double)runs);
  ox_json_begin_array(ox_json_key(&j, "nodes"));
  for (size_t i = 0; i < t->n; i++) {
    const row *r = &t->rows[i];
    ox_json_begin_object(&j);
    ox_json_string(ox_json_key(&j, "name"), r->name);
    ox_json_string(ox_json_key(&j, "op"), r->op);
    ox_json_string(ox_json_key(&j, "provider"), r->provider);
    ox_json_double(ox_json_key(&j, "ms"), r->us / 1e3 / (double)runs);
    ox_json_uint(ox_json_key(&j, "calls"), r->calls / runs);
    ox_json_end_object(&j);
  }
  ox_json_end_array(&j);
  ox_json_end_object(&j);
  ox_json_end(&j);
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

static struct {
  cli_model model;
  long long runs, top;
  char *trace;
} args = {.model.args.level = OX_OPTIMIZE_ALL, .runs = 10, .top = 15};

static const cli_option options[] = {
    CLI_INT("runs", "N", &args.runs, 1, UINT32_MAX, "runs to average over"),
    CLI_INT("top", "N", &args.top, 0, UINT32_MAX, "nodes to list"),
    CLI_TEXT("trace", "FILE", &args.trace, "also write a trace for Chrome (chrome://tracing) or Perfetto"),
    CLI_MODEL_OPTIONS(args.model),
};

static ox_status *work(cli_model *m) {
  ox_status *st = cli_model_fill(m);
  if (!st) st = go(m, (size_t)args.runs);
  if (!st) tell(m->session, (size_t)args.runs, (size_t)args.top, m->json);
  if (!st && args.trace) st = ox_session_profile_write(m->session, args.trace);
  return st;
}

static int run(const cli_operands *operands) {
  int code = cli_model_open(&args.model, operands, false);
  ox_status *st = code == EXIT_OK ? work(&args.model) : NULL;
  if (st) code = cli_fail(st);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_profile = {
    .name = "profile",
    .summary = "shows where a model's time goes",
    .about = "Times every node over some runs and prints the operators and nodes that take longest.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
