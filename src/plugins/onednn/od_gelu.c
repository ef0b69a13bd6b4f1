/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_gelu.c - see od_gelu.h. Exporters multiply in different orders: (x * gate) / 2, (x / 2) * gate,
 * (gate / 2) * x. An Erf outside of a GELU is a loop of our own. */
#include "od_gelu.h"

#include <math.h>

/* ---- nodes ---- */

/* Does |n| multiply the value |of|, whose rank is |rank|, by the number |c|? */
static bool multiplies_by(const od_node *n, uint32_t of, int rank, float c) {
  bool is_div = od_is_op(n, "Div");
  float has;
  if (!is_div && !od_is_op(n, "Mul")) return false;
  size_t at = od_in(n, 0) == of ? 1 : 0;
  const ox_tensor *t = od_in_const(n, at);
  if (od_in(n, 1 - at) != of || (is_div && at == 0) || !od_float_const(n, at, &has)) return false;
  return t->shape.rank <= rank && fabsf((is_div ? 1 / has : has) - c) < 1e-5f;
}

static bool adds_one(const od_node *n) {
  float c;
  return od_is_op(n, "Add") && (od_float_const(n, 0, &c) || od_float_const(n, 1, &c)) && c == 1;
}

static bool is_cube(const od_node *n, uint32_t x) {
  float c;
  return od_is_op(n, "Pow") && od_in(n, 0) == x && od_float_const(n, 1, &c) && c == 3;
}

/* Is |n| the operator |op| of x and y, in any order? */
static bool is_of_both(const od_node *n, const char *op, uint32_t x, uint32_t y) {
  if (!od_is_op(n, op)) return false;
  return (od_in(n, 0) == x && od_in(n, 1) == y) || (od_in(n, 0) == y && od_in(n, 1) == x);
}

/* ---- the pattern, node by node ---- */

static uint32_t output(const od_builder *b, size_t k) {
  od_node n = od_node_of(b, k);
  return od_out(&n, 0);
}

/* Appends the only reader of the last node's output to |g|; false: there is none. */
static bool follow(const od_builder *b, od_gelu *g, od_node *out) {
  size_t k = od_only_reader(b, output(b, g->node[g->n - 1]));
  if (k == SIZE_MAX) return false;
  g->node[g->n++] = k;
  *out = od_node_of(b, k);
  return true;
}

static bool find_erf(const od_builder *b, size_t scaled, od_gelu *g) {
  od_node n;
  g->f = (od_function){dnnl_eltwise_gelu_erf, 0, 0};
  g->node[g->n++] = scaled, g->uses = 2;
  return follow(b, g, &n) && od_is_op(&n, "Erf");
}

/* tanh(0.798 (x + 0.0447 x^3)) */
static bool find_tanh(const od_builder *b, size_t cube, int rank, od_gelu *g) {
  od_node n;
  g->f = (od_function){dnnl_eltwise_gelu_tanh, 0, 0};
  g->node[g->n++] = cube, g->uses = 3;
  uint32_t v = output(b, cube);
  if (!follow(b, g, &n) || !multiplies_by(&n, v, rank, 0.044715f)) return false;
  v = od_out(&n, 0);
  if (!follow(b, g, &n) || !is_of_both(&n, "Add", g->x, v)) return false;
  v = od_out(&n, 0);
  if (!follow(b, g, &n) || !multiplies_by(&n, v, rank, 0.79788456f)) return false;
  return follow(b, g, &n) && od_is_op(&n, "Tanh");
}

/* The rest of the pattern: 1 + erf (or tanh), times x and a half. |half|: a node that halves x, or SIZE_MAX. */
static bool find_products(const od_builder *b, int rank, size_t half, od_gelu *g) {
  od_node n;
  if (!follow(b, g, &n) || !adds_one(&n)) return false;
  uint32_t gate = od_out(&n, 0);
  if (!follow(b, g, &n)) return false;
  if (half != SIZE_MAX && is_of_both(&n, "Mul", output(b, half), gate)) {
    if (od_only_reader(b, output(b, half)) != n.index) return false;
    g->node[g->n - 1] = half, g->node[g->n++] = n.index;
    return true;
  }
  bool by_x = is_of_both(&n, "Mul", g->x, gate), halved = multiplies_by(&n, gate, rank, 0.5f);
  uint32_t product = od_out(&n, 0);
  if ((!by_x && !halved) || !follow(b, g, &n)) return false;
  return by_x ? multiplies_by(&n, product, rank, 0.5f) : is_of_both(&n, "Mul", g->x, product);
}

bool od_gelu_find(const od_builder *b, uint32_t x, int rank, size_t from, od_gelu *out) {
  size_t scaled = SIZE_MAX, half = SIZE_MAX, cube = SIZE_MAX;
  for (size_t k = od_next_reader(b, x, from); k != SIZE_MAX; k = od_next_reader(b, x, k + 1)) {
    od_node n = od_node_of(b, k);
    if (multiplies_by(&n, x, rank, 0.70710678f)) scaled = k;
    if (multiplies_by(&n, x, rank, 0.5f)) half = k;
    if (is_cube(&n, x)) cube = k;
  }
  *out = (od_gelu){.x = x};
  bool found = scaled != SIZE_MAX ? find_erf(b, scaled, out) : cube != SIZE_MAX ? find_tanh(b, cube, rank, out) : false;
  if (!found || !find_products(b, rank, half, out)) return false;
  out->out = output(b, out->node[out->n - 1]);
  return true;
}

bool od_gelu_begins(const od_builder *b, const od_node *n, od_gelu *out) {
  for (size_t i = 0; i < od_n_in(n); i++) {
    const od_value *x = &b->values[od_in(n, i)];
    if (x->constant || x->dtype != OX_F32 || !od_gelu_find(b, od_in(n, i), x->shape.rank, n->index, out)) continue;
    for (uint32_t k = 0; k < out->n; k++)
      if (out->node[k] == n->index) return true;
  }
  return false;
}

ox_status *od_gelu_build(od_builder *b, const od_gelu *g) {
  uint32_t mem, to;
  OD_TRY(od_read(b, g->x, &mem));
  ox_shape shape = od_val(b, g->x)->shape;
  dnnl_memory_desc_t md = *od_md(b, mem);
  OD_TRY(od_write(b, g->out, &shape, OX_F32, &md, &to));
  for (uint32_t i = 0; i < g->n; i++) od_node_done(b, g->node[i]);
  return od_count(&shape) ? od_emit_function(b, &g->f, mem, to) : NULL;
}

static ox_status *build_pow(od_builder *b, const od_node *n) {
  od_gelu g;
  return od_gelu_begins(b, n, &g) ? od_gelu_build(b, &g) : od_functions_build(b, n);
}

/* ---- Erf ---- */

static const char *refuse_erf(const od_node *n) {
  const char *why = od_refuse_type(n, 0);
  return why ? why : od_in_type(n, 0, NULL) != OX_F32 ? REASON("float32", "{0}") : NULL;
}

static ox_status *build_erf(od_builder *b, const od_node *n) {
  uint32_t mem[2];
  od_loops_job none = {.low = 0};
  OD_TRY(od_read_dense(b, od_in(n, 0), &mem[1]));
  ox_shape shape = *od_in_shape(b, n, 0);
  dnnl_memory_desc_t md = *od_md(b, mem[1]);
  OD_TRY(od_write(b, od_out(n, 0), &shape, OX_F32, &md, &mem[0]));
  return od_count(&shape) ? od_emit_own(b, OD_ERF, &none, mem, 2) : NULL;
}

const od_op od_gelu_ops[] = {
    {"Erf", refuse_erf, build_erf}, {"Pow", od_functions_refuse, build_pow}, {NULL, NULL, NULL}};
