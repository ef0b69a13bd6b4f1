/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_info.c - onyx info: what a model is made of. */
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"

enum { MOST_OPS = 512 };

typedef struct {
  const char *op, *domain;
  size_t n;
} op_count;

typedef struct {
  op_count ops[MOST_OPS];
  size_t n;
} op_counts;

static void count(void *ctx, const char *op, const char *domain, const char *name, const char *provider) {
  op_counts *c = ctx;
  (void)name, (void)provider;
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(c->ops[i].op, op) == 0 && strcmp(c->ops[i].domain, domain) == 0) {
      c->ops[i].n++;
      return;
    }
  if (c->n < MOST_OPS) c->ops[c->n++] = (op_count){op, domain, 1};
}

static int more_often(const void *a, const void *b) {
  const op_count *x = a, *y = b;
  return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->op, y->op);
}

static void print_io(const cli_model *m, bool outputs) {
  static const char *const kinds[] = {"", "sequence of ", "map of ", "optional ", "sparse "};
  size_t n = outputs ? ox_session_output_count(m->session) : ox_session_input_count(m->session);
  for (size_t i = 0; i < n; i++) {
    ox_value_info v;
    ox_status_free(outputs ? ox_session_output(m->session, i, &v) : ox_session_input(m->session, i, &v));
    if (m->json) {
      printf("%s{\"name\": ", i ? ", " : "");
      cli_json_string(stdout, v.name);
      printf(", \"type\": \"%s%s\", \"shape\": [", v.kind < 5 ? kinds[v.kind] : "", ox_type_name(v.dtype));
    } else {
      printf("%s %s: %s%s[", outputs ? "output" : "input ", v.name, v.kind < 5 ? kinds[v.kind] : "", ox_type_name(v.dtype));
    }
    for (int d = 0; d < v.rank; d++) {
      if (d) printf(m->json ? ", " : ",");
      if (v.dims[d] >= 0) printf("%lld", (long long)v.dims[d]);
      else if (m->json) cli_json_string(stdout, v.dim_names[d] ? v.dim_names[d] : "?");
      else printf("%s", v.dim_names[d] ? v.dim_names[d] : "?");
    }
    printf(m->json ? "]}" : "%s]\n", v.rank < 0 ? "..." : "");
  }
}

/* Workspace and floating-point operations of one run, when every shape is known or given by --dim. */
static bool measure(cli_model *m, size_t *workspace, double *flops) {
  static cli_inputs in;
  ox_value *out[CLI_MOST] = {0};
  ox_shape shapes[CLI_MOST];
  ox_node_time e;
  *flops = 0;
  ox_status *st = cli_model_inputs(m, &in);
  for (size_t i = 0; !st && i < in.n; i++) shapes[i] = ox_value_get(in.values[i])->shape;
  if (!st) st = ox_session_plan(m->session, shapes, in.n, workspace);
  ox_session_profile_start(m->session);
  if (!st) st = ox_session_run(m->session, NULL, in.names, (const ox_value *const *)in.values, in.n, NULL, out, ox_session_output_count(m->session));
  ox_session_profile_stop(m->session);
  for (size_t i = 0; !st && ox_session_profile_event(m->session, i, &e); i++) *flops += e.flops;
  for (size_t i = 0; i < CLI_MOST; i++) ox_value_release(out[i]);
  cli_inputs_release(&in);
  bool ok = st == NULL;
  ox_status_free(st);
  return ok;
}

static void print_metadata(const cli_model *m) {
  const char *key, *value;
  for (size_t i = 0; ox_session_metadata(m->session, i, &key, &value), key; i++) {
    if (m->json) {
      printf("%s", i ? ", " : "");
      cli_json_string(stdout, key);
      printf(": ");
      cli_json_string(stdout, value ? value : "");
    } else if (value && value[0]) {
      printf("%s: %s\n", key, value);
    }
  }
}

static void tell(cli_model *m) {
  static op_counts c;
  uint64_t parameters, bytes, nodes;
  size_t workspace = 0;
  double flops = 0;
  ox_session_nodes(m->session, count, &c);
  qsort(c.ops, c.n, sizeof *c.ops, more_often);
  ox_session_size(m->session, &parameters, &bytes, &nodes);
  bool measured = measure(m, &workspace, &flops);
  if (m->json) printf("{\"metadata\": {");
  print_metadata(m);
  if (m->json) printf("}, \"inputs\": [");
  print_io(m, false);
  if (m->json) printf("], \"outputs\": [");
  print_io(m, true);
  if (m->json) printf("], \"nodes\": %llu, \"parameters\": %llu, \"parameter_bytes\": %llu, ", (unsigned long long)nodes,
                      (unsigned long long)parameters, (unsigned long long)bytes);
  else printf("nodes: %llu\nparameters: %llu (%.1f MB)\n", (unsigned long long)nodes, (unsigned long long)parameters, (double)bytes / 1e6);
  if (measured && m->json) printf("\"flops\": %.0f, \"workspace_bytes\": %zu, ", flops, workspace);
  else if (measured) printf("one run: %.3f GFLOP in the products, %.1f MB of workspace\n", flops / 1e9, (double)workspace / 1e6);
  printf(m->json ? "\"operators\": {" : "operators:\n");
  for (size_t i = 0; i < c.n; i++)
    printf(m->json ? "%s\"%s%s%s\": %zu" : "%s  %s%s%s x%zu\n", m->json && i ? ", " : "", c.ops[i].domain, c.ops[i].domain[0] ? "." : "",
           c.ops[i].op, c.ops[i].n);
  if (m->json) printf("}}\n");
}

static int write_bytes(void *ctx, const void *bytes, size_t n) { return fwrite(bytes, 1, n, ctx) != n; }

static int run(int argc, char **argv) {
  static cli_model m;
  bool text = false;
  const cli_option options[] = {CLI_MODEL_ROWS(&m), {"--text", &text, NULL, NULL}};
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &m.paths)) return EXIT_USAGE;
  if (!m.level) m.level = "0"; /* the model as it was written */
  int code = cli_model_open(&m, "info", true);
  if (code == EXIT_OK && text) {
    ox_status *st = ox_session_write(m.session, OX_WRITE_TEXT_SHORT, write_bytes, stdout);
    if (st) code = cli_fail(st);
  } else if (code == EXIT_OK) {
    tell(&m);
  }
  cli_model_close(&m);
  return code;
}

const cli_command cmd_info = {"info", "tells what a model is made of",
                              "usage: onyx info MODEL|DIR [options]\n\n"
                              "Inputs, outputs, operators with counts, parameters, floating-point operations and planned memory of one run.\n\n"
                              "  --text              print the graph in ONNX's textual syntax instead, long constants cut short\n" CLI_MODEL_HELP,
                              run};
