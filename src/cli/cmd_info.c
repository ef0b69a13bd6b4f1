/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_info.c - onyx info: what a model is made of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"
#include "info_plan.h"

enum { MOST_OPS = 512 };

typedef struct {
  const char *op, *domain;
  size_t n;
} op_count;

typedef struct {
  op_count ops[MOST_OPS];
  size_t n;
} op_counts;

static void count(op_counts *c, const char *op, const char *domain) {
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

/* Workspace and floating-point operations of one run, if it is one of known inputs. */
static bool measure(cli_model *m, int64_t *workspace, double *flops) {
  ox_node_time e;
  *flops = 0;
  ox_status *st = cli_model_fill(m);
  if (!st) st = cli_model_workspace(m, workspace);
  ox_session_profile_start(m->session);
  if (!st) st = cli_model_run(m);
  ox_session_profile_stop(m->session);
  for (size_t i = 0; !st && ox_session_profile_event(m->session, i, &e); i++) *flops += e.flops;
  bool ok = !st && *workspace >= 0;
  ox_status_free(st);
  return ok;
}

/* What there is to tell; |measured|: the last two are known. */
typedef struct {
  uint64_t parameters, parameter_bytes, nodes;
  op_counts ops;
  bool measured;
  int64_t workspace;
  double flops;
} facts;

static void collect(cli_model *m, facts *f) {
  ox_placement p;
  for (size_t i = 0; ox_session_placement(m->session, i, &p); i++) count(&f->ops, p.op, p.domain);
  qsort(f->ops.ops, f->ops.n, sizeof *f->ops.ops, more_often);
  ox_session_size(m->session, &f->parameters, &f->parameter_bytes, &f->nodes);
  f->measured = measure(m, &f->workspace, &f->flops);
}

static const char *kind_text(const ox_value_info *v) {
  static const char *const kinds[] = {"", "sequence of ", "map of ", "nothing of ", "sparse "};
  return v->kind < 5 ? kinds[v->kind] : "";
}

static bool get_io(const ox_session *s, bool outputs, size_t i, ox_value_info *out) {
  if (i >= (outputs ? ox_session_output_count(s) : ox_session_input_count(s))) return false;
  ox_status_free(outputs ? ox_session_output(s, i, out) : ox_session_input(s, i, out));
  return true;
}

/* ---- as text ---- */

static void print_io(const ox_session *s, bool outputs) {
  ox_value_info v;
  for (size_t i = 0; get_io(s, outputs, i, &v); i++) {
    printf("%s %s: %s%s%s[", outputs ? "output" : "input ", v.name, v.optional ? "optional " : "", kind_text(&v),
           ox_type_name(v.dtype));
    for (int d = 0; d < v.rank; d++) {
      if (d) printf(",");
      if (v.dims[d] >= 0)
        printf("%lld", (long long)v.dims[d]);
      else
        printf("%s", v.dim_names[d] ? v.dim_names[d] : "?");
    }
    printf("%s]\n", v.rank < 0 ? "..." : "");
  }
}

static void print_text(const ox_session *s, const facts *f) {
  const char *key, *value;
  for (size_t i = 0; ox_session_metadata(s, i, &key, &value), key; i++)
    if (value && value[0]) printf("%s: %s\n", key, value);
  print_io(s, false);
  print_io(s, true);
  printf("nodes: %" PRIu64 "\nparameters: %" PRIu64 " (%.1f MB)\n", f->nodes, f->parameters,
         (double)f->parameter_bytes / 1e6);
  if (f->measured)
    printf("one run: %.3f GFLOP in the products, %.1f MB of workspace\n", f->flops / 1e9, (double)f->workspace / 1e6);
  printf("operators:\n");
  for (size_t i = 0; i < f->ops.n; i++) {
    const op_count *o = &f->ops.ops[i];
    printf("  %s%s%s x%zu\n", o->domain, o->domain[0] ? "." : "", o->op, o->n);
  }
}

/* ---- as JSON ---- */

static void write_io(ox_json *j, const ox_session *s, bool outputs) {
  ox_value_info v;
  char type[64];
  ox_json_begin_array(ox_json_key(j, outputs ? "outputs" : "inputs"));
  for (size_t i = 0; get_io(s, outputs, i, &v); i++) {
    snprintf(type, sizeof type, "%s%s%s", v.optional ? "optional " : "", kind_text(&v), ox_type_name(v.dtype));
    ox_json_begin_object(j);
    ox_json_string(ox_json_key(j, "name"), v.name);
    ox_json_string(ox_json_key(j, "type"), type);
    ox_json_begin_array(ox_json_key(j, "shape"));
    for (int d = 0; d < v.rank; d++) {
      if (v.dims[d] >= 0)
        ox_json_int(j, v.dims[d]);
      else
        ox_json_string(j, v.dim_names[d] ? v.dim_names[d] : "?");
    }
    ox_json_end_array(j);
    ox_json_end_object(j);
  }
  ox_json_end_array(j);
}

static void write_operators(ox_json *j, const op_counts *c) {
  char name[1024];
  ox_json_begin_object(ox_json_key(j, "operators"));
  for (size_t i = 0; i < c->n; i++) {
    snprintf(name, sizeof name, "%s%s%s", c->ops[i].domain, c->ops[i].domain[0] ? "." : "", c->ops[i].op);
    ox_json_uint(ox_json_key(j, name), c->ops[i].n);
  }
  ox_json_end_object(j);
}

static void print_json(const ox_session *s, const facts *f) {
  const char *key, *value;
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_begin_object(ox_json_key(&j, "metadata"));
  for (size_t i = 0; ox_session_metadata(s, i, &key, &value), key; i++)
    ox_json_string(ox_json_key(&j, key), value ? value : "");
  ox_json_end_object(&j);
  write_io(&j, s, false);
  write_io(&j, s, true);
  ox_json_uint(ox_json_key(&j, "nodes"), f->nodes);
  ox_json_uint(ox_json_key(&j, "parameters"), f->parameters);
  ox_json_uint(ox_json_key(&j, "parameter_bytes"), f->parameter_bytes);
  if (f->measured) {
    ox_json_double(ox_json_key(&j, "flops"), f->flops);
    ox_json_int(ox_json_key(&j, "workspace_bytes"), f->workspace);
  }
  write_operators(&j, &f->ops);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

/* ---- the command ---- */

static struct {
  cli_model model;
  bool text, plan;
} args = {.model.args.level = OX_OPTIMIZE_NONE}; /* the model as it was written */

static const cli_option options[] = {
    CLI_FLAG("text", &args.text, "print the graph in ONNX's textual syntax instead, long constants cut short"),
    CLI_FLAG("plan", &args.plan,
             "print instead which provider runs each node and how, what it was made of, and why\n"
             "others declined it; unless given, the level is 3"),
    CLI_MODEL_OPTIONS(args.model),
};

static ox_status *tell(cli_model *m) {
  static facts f;
  if (args.text) return ox_session_write(m->session, OX_WRITE_TEXT_SHORT, cli_write, stdout);
  if (args.plan) {
    if (m->json)
      cli_plan_print_json(m->session);
    else
      cli_plan_print(m->session);
    return NULL;
  }
  collect(m, &f);
  if (m->json)
    print_json(m->session, &f);
  else
    print_text(m->session, &f);
  return NULL;
}

static int run(const cli_operands *operands) {
  if (args.text && (args.plan || args.model.json)) {
    fprintf(stderr, "onyx info: --text does not go with %s\n", args.plan ? "--plan" : "--json");
    return EXIT_USAGE;
  }
  if (args.plan && !args.model.args.level_given) args.model.args.level = OX_OPTIMIZE_ALL; /* the plan that would run */
  int code = cli_model_open(&args.model, operands, true);
  ox_status *st = code == EXIT_OK ? tell(&args.model) : NULL;
  if (st) code = cli_fail(st);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "tells what a model is made of",
    .about =
        "Prints inputs, outputs, operators with counts, parameters, and the floating-point operations and planned\n"
        "memory of one run.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
