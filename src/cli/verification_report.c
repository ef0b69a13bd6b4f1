/* SPDX-License-Identifier: Apache-2.0
 * cli/verification_report.c - what a verification found, for people and as JSON. */
#include <math.h>
#include <string.h>

#include "verification.h"

/* The first value that differs, with all that there is to tell of it. */
typedef struct {
  ox_value_info value;
  bool has_wanted, has_made; /* nodes: a value may be a constant in one graph */
  ox_placement wanted, made;
  const ox_tensor *want, *got;
  int64_t worst; /* -1: no numbers */
} difference;

static bool find_node(const cli_values *r, size_t output, ox_placement *out) {
  size_t node = ox_session_output_node(r->session, output);
  return node != SIZE_MAX && ox_session_placement(r->session, node, out);
}

static difference find_difference(const cli_verification *v) {
  const cli_finding *f = &v->found;
  difference d = {.want = ox_value_get(v->model.out[f->wanted]), .got = ox_value_get(v->optimized.out[f->got])};
  ox_status_free(ox_session_output(v->model.session, f->wanted, &d.value));
  d.has_wanted = find_node(&v->model, f->wanted, &d.wanted);
  d.has_made = find_node(&v->optimized, f->got, &d.made);
  d.worst = cli_worst(d.got, d.want);
  return d;
}

/* The coordinates of element |i|. */
static void index_of(const ox_tensor *t, int64_t i, int64_t *out) {
  for (int d = t->shape.rank - 1; d >= 0; d--) out[d] = i % t->shape.dim[d], i /= t->shape.dim[d];
}

/* ---- text ---- */

/* "'name' (com.microsoft.FusedConv)" */
static void print_node(const ox_placement *p, const char *output) {
  printf("'%s' (%s%s%s)", *p->name ? p->name : output, p->domain, *p->domain ? "." : "", p->op);
}

static void print_made_by(const difference *d) {
  if (!d->has_made) {
    printf("  it is a constant of the optimized model\n");
    return;
  }
  printf("  made by node ");
  print_node(&d->made, d->value.name);
  printf(" on %s", d->made.owner);
  for (size_t i = 0; i < d->made.n_from; i++) printf("%s'%s'", i ? ", " : ", which does the work of ", d->made.from[i]);
  printf("\n");
}

static void print_difference(const cli_verification *v) {
  difference d = find_difference(v);
  printf("value '%s'", d.value.name);
  if (d.has_wanted) printf(" of node "), print_node(&d.wanted, d.value.name);
  printf(" differs: %s\n", v->found.why);
  if (d.worst >= 0) {
    int64_t at[OX_MAX_RANK];
    index_of(d.want, d.worst, at);
    printf("  most at [");
    for (int i = 0; i < d.want->shape.rank; i++) printf("%s%lld", i ? "," : "", (long long)at[i]);
    printf("]: got %.9g, wanted %.9g\n", ox_tensor_element(d.got, d.worst), ox_tensor_element(d.want, d.worst));
  }
  print_made_by(&d);
}

static void print_rules(const cli_verification *v) {
  printf(" ");
  for (size_t i = 0; i < v->n_rules; i++) printf(" --no-rule %s", v->rules[i]);
  printf(v->n_rules ? " makes it agree\n" : " no rule is to blame: it is so without those that were applied, too\n");
}

void cli_verification_print(const cli_verification *v) {
  const cli_finding *f = &v->found;
  if (f->failed)
    printf("the optimized model fails where the model runs: %s\n", f->why);
  else if (!f->agrees)
    print_difference(v);
  if (!f->agrees) {
    print_rules(v);
    return;
  }
  printf("verified: %zu of %zu values are left to compare, and agree", f->n_compared, v->model.n);
  if (f->n_random) printf("; %zu depend on random numbers and were not compared", f->n_random);
  printf("\n");
}

/* ---- JSON ---- */

static void put_node(ox_json *j, const char *key, bool there, const ox_placement *p) {
  ox_json_key(j, key);
  if (!there) {
    ox_json_string(j, NULL);
    return;
  }
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "name"), p->name);
  ox_json_string(ox_json_key(j, "op"), p->op);
  ox_json_string(ox_json_key(j, "domain"), p->domain);
  ox_json_string(ox_json_key(j, "owner"), p->owner);
  ox_json_begin_array(ox_json_key(j, "from"));
  for (size_t i = 0; i < p->n_from; i++) ox_json_string(j, p->from[i]);
  ox_json_end_array(j);
  ox_json_end_object(j);
}

static void put_difference(ox_json *j, const cli_verification *v) {
  difference d = find_difference(v);
  ox_json_string(ox_json_key(j, "value"), d.value.name);
  put_node(j, "node", d.has_wanted, &d.wanted);
  put_node(j, "made_by", d.has_made, &d.made);
  if (d.worst < 0) return;
  int64_t at[OX_MAX_RANK];
  double got = ox_tensor_element(d.got, d.worst), wanted = ox_tensor_element(d.want, d.worst);
  index_of(d.want, d.worst, at);
  ox_json_begin_array(ox_json_key(j, "index"));
  for (int i = 0; i < d.want->shape.rank; i++) ox_json_int(j, at[i]);
  ox_json_end_array(j);
  ox_json_double(ox_json_key(j, "got"), got);
  ox_json_double(ox_json_key(j, "wanted"), wanted);
  ox_json_double(ox_json_key(j, "difference"), fabs(got - wanted));
}

void cli_verification_json(const cli_verification *v, ox_json *j) {
  const cli_finding *f = &v->found;
  ox_json_begin_object(j);
  ox_json_bool(ox_json_key(j, "agrees"), f->agrees);
  ox_json_uint(ox_json_key(j, "values"), v->model.n);
  ox_json_uint(ox_json_key(j, "compared"), f->n_compared);
  ox_json_uint(ox_json_key(j, "random"), f->n_random);
  if (!f->agrees) {
    ox_json_string(ox_json_key(j, "why"), f->why);
    if (!f->failed) put_difference(j, v);
    ox_json_begin_array(ox_json_key(j, "rules"));
    for (size_t i = 0; i < v->n_rules; i++) ox_json_string(j, v->rules[i]);
    ox_json_end_array(j);
  }
  ox_json_end_object(j);
}
