/* SPDX-License-Identifier: Apache-2.0
 * cli/not_finite.c - see not_finite.h. Infinities are told apart from NaN: masks of attention have some rightly. */
#include "not_finite.h"

#include <math.h>
#include <string.h>

typedef enum { IS_NAN, IS_INFINITE } fault;
static const char *const fault_names[] = {"NaN", "infinity"}, *const fault_keys[] = {"first_nan", "first_infinity"};

typedef struct finding {
  const ox_tensor *t; /* NULL: nothing was found */
  const char *name;
  ox_placement node;
  bool has_node, is_input;
  int64_t n, at;
} finding;

static bool is_faulty(double v, fault f) { return f == IS_NAN ? isnan(v) : isinf(v); }

/* How many elements, and the first of them. */
static int64_t count(const ox_tensor *t, fault f, int64_t *at) {
  int64_t n = 0, all = t->kind == OX_TENSOR && t->dtype != OX_STRING && t->data ? ox_tensor_count(t) : 0;
  for (int64_t i = 0; i < all; i++)
    if (is_faulty(ox_tensor_element(t, i), f) && n++ == 0) *at = i;
  return n;
}

/* Inputs come first, then constants, then nodes in the order in which they run. */
static finding find_first(const cli_model *m, fault f) {
  finding best = {.t = NULL};
  size_t best_order = 0;
  int64_t at = 0, n;
  for (size_t i = 0; i < m->in.n; i++)
    if ((n = count(ox_value_get(m->in.values[i]), f, &at)) > 0)
      return (finding){ox_value_get(m->in.values[i]), m->in.names[i], {0}, false, true, n, at};
  for (size_t i = 0; i < m->n_out; i++) {
    size_t node = ox_session_output_node(m->session, i);
    const ox_tensor *t = ox_value_get(m->out[i]);
    size_t order = node + 1; /* 0: no node, a constant */
    if ((best.t && order >= best_order) || (n = count(t, f, &at)) == 0) continue;
    ox_value_info info;
    ox_status_free(ox_session_output(m->session, i, &info));
    best = (finding){.t = t, .name = info.name, .n = n, .at = at}, best_order = order;
    best.has_node = node != SIZE_MAX && ox_session_placement(m->session, node, &best.node);
  }
  return best;
}

static void index_of(const finding *found, int64_t *out) {
  int64_t i = found->at;
  for (int d = found->t->shape.rank - 1; d >= 0; d--) out[d] = i % found->t->shape.dim[d], i /= found->t->shape.dim[d];
}

/* ---- text ---- */

static void print_indices(const int64_t *at, int rank) {
  printf("[");
  for (int d = 0; d < rank; d++) printf("%s%lld", d ? "," : "", (long long)at[d]);
  printf("]");
}

static void print_finding(const finding *found, fault f) {
  int64_t at[OX_MAX_RANK];
  if (!found->t) {
    printf("no %s\n", fault_names[f]);
    return;
  }
  index_of(found, at);
  printf("first %s: %s '%s', %s", fault_names[f], found->is_input ? "input" : "value", found->name,
         ox_type_name(found->t->dtype));
  print_indices(found->t->shape.dim, found->t->shape.rank);
  printf(", %lld of %lld elements, at ", (long long)found->n, (long long)ox_tensor_count(found->t));
  print_indices(at, found->t->shape.rank);
  if (!found->is_input && !found->has_node) printf(", a constant");
  printf("\n");
  if (!found->has_node) return;
  const ox_placement *p = &found->node;
  printf("  made by node '%s' (%s%s%s) on %s", *p->name ? p->name : found->name, p->domain, *p->domain ? "." : "",
         p->op, p->owner);
  for (size_t i = 0; i < p->n_from; i++) printf("%s'%s'", i ? ", " : ", which does the work of ", p->from[i]);
  printf("%s\n", p->n_from > 1 ? "; --level 0 keeps them apart" : "");
}

/* ---- JSON ---- */

static void put_indices(ox_json *j, const char *key, const int64_t *at, int rank) {
  ox_json_begin_array(ox_json_key(j, key));
  for (int d = 0; d < rank; d++) ox_json_int(j, at[d]);
  ox_json_end_array(j);
}

static void put_finding(ox_json *j, const finding *found, fault f) {
  int64_t at[OX_MAX_RANK];
  ox_json_key(j, fault_keys[f]);
  if (!found->t) {
    ox_json_string(j, NULL);
    return;
  }
  index_of(found, at);
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "value"), found->name);
  ox_json_string(ox_json_key(j, "type"), ox_type_name(found->t->dtype));
  put_indices(j, "shape", found->t->shape.dim, found->t->shape.rank);
  ox_json_int(ox_json_key(j, "elements"), found->n);
  put_indices(j, "at", at, found->t->shape.rank);
  if (found->has_node) {
    ox_json_string(ox_json_key(j, "node"), found->node.name);
    ox_json_string(ox_json_key(j, "op"), found->node.op);
    ox_json_begin_array(ox_json_key(j, "from"));
    for (size_t i = 0; i < found->node.n_from; i++) ox_json_string(j, found->node.from[i]);
    ox_json_end_array(j);
  }
  ox_json_end_object(j);
}

bool cli_tell_not_finite(const cli_model *m) {
  const finding found[] = {find_first(m, IS_NAN), find_first(m, IS_INFINITE)};
  ox_json j = cli_json();
  if (m->json) ox_json_begin_object(&j);
  for (int f = IS_NAN; f <= IS_INFINITE; f++)
    m->json ? put_finding(&j, &found[f], (fault)f) : print_finding(&found[f], (fault)f);
  if (m->json) ox_json_end_object(&j), ox_json_end(&j);
  return found[IS_NAN].t != NULL;
}
