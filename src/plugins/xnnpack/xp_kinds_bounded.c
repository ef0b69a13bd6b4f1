/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_bounded.c - Add, Sub, Mul and Div with bounds on the result, as residual networks have after each
 * block (Add, Relu). Used where the library's binary operators take no bounds: two of its operators would go through
 * memory twice. */
#include <math.h>

#include "xp_library.h"
#include "xp_matrix.h"

enum { BLOCK = 4096 }; /* elements per work unit */

/* A loop nest around rows, with each operand's stride in each dimension: 0 where it is broadcast. */
typedef struct bounded {
  const float *a, *b;
  float *y, lo, hi;
  xp_binary op;
  int rank;
  size_t n[XP_MOST_RANK], step_a[XP_MOST_RANK], step_b[XP_MOST_RANK];
  size_t blocks; /* per row */
} bounded;

/* NaN is kept, as it compares false with both bounds. */
static inline float within(float x, float lo, float hi) {
  x = lo > x ? lo : x;
  return hi < x ? hi : x;
}

/* ivdep holds although the output may be an operand: each element is read before it is overwritten. */
#define ELEMENTS(at_a, at_b, expression)                \
  _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) { \
    float u = a[at_a], v = b[at_b];                     \
    y[i] = within(expression, lo, hi);                  \
  }
#define ROW(name, expression)                                                                                \
  static void name(const bounded *g, const float *a, size_t step_a, const float *b, size_t step_b, float *y, \
                   size_t n) {                                                                               \
    float lo = g->lo, hi = g->hi;                                                                            \
    if (step_a && step_b) {                                                                                  \
      ELEMENTS(i, i, expression)                                                                             \
    } else {                                                                                                 \
      ELEMENTS(i *step_a, i *step_b, expression)                                                             \
    }                                                                                                        \
  }
ROW(add_row, u + v)
ROW(sub_row, u - v)
ROW(mul_row, u *v)
ROW(div_row, u / v)

static ox_status *run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  static void (*const rows[])(const bounded *, const float *, size_t, const float *, size_t, float *, size_t) = {
      [XP_ADD] = add_row, [XP_DIV] = div_row, [XP_MUL] = mul_row, [XP_SUB] = sub_row};
  const bounded *g = ctx;
  int last = g->rank - 1;
  size_t row = g->n[last], step_a = g->step_a[last], step_b = g->step_b[last];
  (void)worker;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    size_t rest = i / g->blocks, from = i % g->blocks * BLOCK, at_a = from * step_a, at_b = from * step_b;
    size_t at_y = rest * row + from, n = row - from < BLOCK ? row - from : BLOCK;
    for (int d = last - 1; d >= 0; rest /= g->n[d], d--)
      at_a += rest % g->n[d] * g->step_a[d], at_b += rest % g->n[d] * g->step_b[d];
    rows[g->op](g, g->a + at_a, step_a, g->b + at_b, step_b, g->y + at_y, n);
  }
  return NULL;
}

/* Sizes and strides of operand |i|, padded to the output's rank. */
static void strides(const xp_call *c, int i, int rank, size_t size[XP_MOST_RANK], size_t step[XP_MOST_RANK]) {
  size_t own[XP_MOST_RANK], n = 1;
  int missing = rank - c->in_dims[i]->rank;
  xp_sizes(c, i, own);
  for (int d = rank - 1; d >= 0; d--) {
    size[d] = d < missing ? 1 : own[d - missing];
    step[d] = size[d] == 1 ? 0 : n;
    n *= size[d];
  }
}

static const char *bounded_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  (void)s;
  return xp_broadcast(in[0], in[1], out) ? NULL : "the shapes do not broadcast";
}

static void bounded_run(const xp_step *s, const xp_call *c) {
  bounded g = {.a = c->in[0], .b = c->in[1], .y = c->out, .lo = s->lo, .hi = s->hi, .op = (xp_binary)s->which};
  size_t size_a[XP_MOST_RANK], size_b[XP_MOST_RANK], step_a[XP_MOST_RANK], step_b[XP_MOST_RANK], units = 1;
  int rank = c->out_dims->rank;
  strides(c, 0, rank, size_a, step_a), strides(c, 1, rank, size_b, step_b);
  for (int d = 0; d < rank; d++) { /* drops dimensions of size 1 and merges neighbours with compatible strides */
    size_t n = size_a[d] > size_b[d] ? size_a[d] : size_b[d];
    int k = g.rank - 1;
    if (n == 1) continue;
    if (k >= 0 && g.step_a[k] == n * step_a[d] && g.step_b[k] == n * step_b[d])
      g.n[k] *= n, g.step_a[k] = step_a[d], g.step_b[k] = step_b[d];
    else
      g.n[g.rank] = n, g.step_a[g.rank] = step_a[d], g.step_b[g.rank++] = step_b[d];
  }
  if (!g.rank) g.n[g.rank++] = 1;
  g.blocks = (g.n[g.rank - 1] + BLOCK - 1) / BLOCK;
  for (int d = 0; d < g.rank - 1; d++) units *= g.n[d];
  xp_loop(c->ep, units * g.blocks, xp_elements(c->out_dims) * sizeof(float), run_blocks, &g);
}

const xp_kind xp_kind_bounded = {.shape = bounded_shape, .run = bounded_run, .in_place = true};
