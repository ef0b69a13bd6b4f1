/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_turned.c - Transpose to channels last, a product with constant weights, a bias, Transpose back: a
 * convolution of one tap over channels where they are (heads that talk, mixed tokens). Takes both Transposes away. */
#include "base/macros.h"
#include "base/status.h"
#include "onyx/rewrite.h"

enum { BACK };
static const ox_pat pattern[] = {[BACK] = {.op = "Transpose"}};

/* Of so many channels products in rows are fast enough to pay for both Transposes. */
enum { MOST_WORTH = 64, MOST_CHANNELS = 4096 };

typedef struct found {
  ox_id x, weights, bias; /* bias: OX_NONE: none */
} found;

/* |perm| of |node| moves axis 1 to the end (|back|: the last one to 1) and keeps the others' order. */
static int turns(const ox_rewrite *g, ox_id node, int rank, int back) {
  const ox_attr_view *perm = ox_attr_ints(g, node, "perm");
  if (!perm || perm->n != (size_t)rank || perm->ints[0] != 0) return 0;
  for (int i = 1; i < rank; i++)
    if (perm->ints[i] != (back ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1))) return 0;
  return 1;
}

/* The addend of one number per column, if |v| is what it is added to. */
static int bias_of(const ox_rewrite *g, ox_id add, ox_id *v, ox_id *bias) {
  for (uint32_t i = 0; i < 2; i++) {
    const ox_tensor *t = ox_const_type(g, ox_in(g, add, i));
    if (!t) continue;
    *bias = ox_in(g, add, i), *v = ox_in(g, add, 1 - i);
    return t->dtype == OX_F32 && t->shape.rank >= 1 && ox_elements(&t->shape) == t->shape.dim[t->shape.rank - 1];
  }
  return 0;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  ox_id v = ox_in(g, m->node[BACK], 0), add = ox_up1(g, v, "Add");
  int rank = ox_shape_at(g, v)->rank;
  if (rank < 3 || rank > 5 || ox_dtype_of(g, v) != OX_F32 || !turns(g, m->node[BACK], rank, 1)) return 0;
  f->bias = OX_NONE;
  if (add != OX_NONE && !bias_of(g, add, &v, &f->bias)) return 0;
  ox_id product = ox_up1(g, v, "MatMul");
  if (product == OX_NONE) return 0;
  f->weights = ox_in(g, product, 1);
  const ox_tensor *w = ox_const_type(g, f->weights);
  ox_id turn = ox_up1(g, ox_in(g, product, 0), "Transpose");
  if (!w || w->dtype != OX_F32 || w->shape.rank != 2 || turn == OX_NONE || !turns(g, turn, rank, 0)) return 0;
  int64_t k = w->shape.dim[0], n = w->shape.dim[1];
  if (k < 1 || n < 1 || k > MOST_CHANNELS || n > MOST_CHANNELS || k * n > MOST_WORTH * (k + n)) return 0;
  if (f->bias != OX_NONE && ox_elements(&ox_const_type(g, f->bias)->shape) != n) return 0;
  f->x = ox_in(g, turn, 0);
  return ox_op_serves(g, NULL, "Conv", OX_F32);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  const ox_tensor *w = ox_const(g, f->weights), *b = f->bias == OX_NONE ? NULL : ox_const(g, f->bias);
  int rank = ox_shape_at(g, f->x)->rank;
  int64_t dims[OX_MAX_RANK];
  ox_id in[3] = {f->x};
  float *data;
  if (!w || (f->bias != OX_NONE && !b)) return ox_no_memory(g);
  int64_t k = w->shape.dim[0], n = w->shape.dim[1];
  for (int i = 0; i < rank; i++) dims[i] = i == 0 ? n : i == 1 ? k : 1;
  OX_TRY(ox_f32_room(g, NULL, rank, dims, &data, &in[1]));
  for (int64_t o = 0; o < n; o++)
    for (int64_t i = 0; i < k; i++) data[o * k + i] = ((const ox_f32u *)w->data)[i * n + o];
  if (b) {
    OX_TRY(ox_f32_room(g, NULL, 1, &n, &data, &in[2]));
    for (int64_t o = 0; o < n; o++) data[o] = ((const ox_f32u *)b->data)[o];
  }
  return ox_remake(g, m->node[BACK], NULL, "Conv", in, b ? 3 : 2);
}

static const ox_rule rules[] = {{OX_RULE("linear-turned", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_linear_turned = OX_RULE_SET(rules);
