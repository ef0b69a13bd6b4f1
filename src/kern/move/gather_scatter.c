/* SPDX-License-Identifier: Apache-2.0
 * kern/move/gather_scatter.c - indexed copies; every index is checked where it is used. */
#include "kern/move/gather_scatter.h"

#include <string.h>

enum {
  LONG_ROW = 128 * 1024, /* bytes; longer rows are copied in pieces, each a unit */
  B_PIECE = 4096,
  K_PIECE = 4096 /* positions of a unit along b and k, at most */
};

ox_status *ox_index_error(const char *op, const ox_index *x, int64_t i, int64_t dim) {
  return ox_fail(OX_INVALID_ARGUMENT, "%s: index %lld at position %lld is outside [-%lld, %lld)", op,
                 (long long)ox_index_at(x, i), (long long)i, (long long)dim, (long long)dim);
}

void ox_gather_init(ox_gather *g, int64_t outer, int64_t dim, int64_t inner_bytes, int64_t n) {
  *g = (ox_gather){.outer = outer, .dim = dim, .inner = inner_bytes, .n = n, .pieces = 1};
  if (inner_bytes >= LONG_ROW) g->pieces = inner_bytes / OX_MOVE_CHUNK;
  g->units = outer * n * g->pieces;
}

/* Rows of one outer position; |bytes| is a constant in the small cases. Returns the position of a bad index or -1. */
OX_INLINE int64_t gather_rows(const ox_gather *g, const char *data, const ox_index *x, char *out, int64_t begin,
                              int64_t end, size_t bytes) {
  if (x->wide) {
    for (int64_t j = begin; j < end; j++) {
      int64_t v = ((const ox_i64u *)x->data)[j];
      if (v < 0) v += g->dim;
      if (OX_UNLIKELY((uint64_t)v >= (uint64_t)g->dim)) return j;
      memcpy(out + j * (int64_t)bytes, data + v * (int64_t)bytes, bytes);
    }
  } else {
    for (int64_t j = begin; j < end; j++) {
      int64_t v = ((const ox_i32u *)x->data)[j];
      if (v < 0) v += g->dim;
      if (OX_UNLIKELY((uint64_t)v >= (uint64_t)g->dim)) return j;
      memcpy(out + j * (int64_t)bytes, data + v * (int64_t)bytes, bytes);
    }
  }
  return -1;
}

static int64_t gather_span(const ox_gather *g, const char *data, const ox_index *x, char *out, int64_t lo, int64_t hi) {
  switch (g->inner) {
    case 1:
      return gather_rows(g, data, x, out, lo, hi, 1);
    case 2:
      return gather_rows(g, data, x, out, lo, hi, 2);
    case 4:
      return gather_rows(g, data, x, out, lo, hi, 4);
    case 8:
      return gather_rows(g, data, x, out, lo, hi, 8);
    case 16:
      return gather_rows(g, data, x, out, lo, hi, 16);
    default:
      return gather_rows(g, data, x, out, lo, hi, (size_t)g->inner);
  }
}

static int64_t gather_piece(const ox_gather *g, const char *data, const ox_index *x, char *out, int64_t unit) {
  int64_t row = unit / g->pieces, p = unit % g->pieces, o = row / g->n, j = row % g->n;
  int64_t lo = p * OX_MOVE_CHUNK, hi = p + 1 == g->pieces ? g->inner : lo + OX_MOVE_CHUNK;
  int64_t v = ox_index_in(x, j, g->dim);
  if (v < 0) return j;
  memcpy(out + row * g->inner + lo, data + (o * g->dim + v) * g->inner + lo, (size_t)(hi - lo));
  return -1;
}

ox_status *ox_gather_run(const ox_gather *g, const void *data, const ox_index *x, void *out, int64_t begin,
                         int64_t end) {
  int64_t bad = -1;
  for (int64_t u = begin; u < end && bad < 0;) {
    if (g->pieces > 1) {
      bad = gather_piece(g, data, x, out, u++);
      continue;
    }
    int64_t o = u / g->n, lo = u % g->n, hi = OX_MIN(g->n, lo + end - u);
    bad = gather_span(g, (const char *)data + o * g->dim * g->inner, x, (char *)out + o * g->n * g->inner, lo, hi);
    u += hi - lo;
  }
  return bad < 0 ? NULL : ox_index_error("Gather", x, bad, g->dim);
}

void ox_elements_init(ox_elements *e, int rank, const int64_t *index, const int64_t *data, int axis, int64_t elem,
                      bool scatter) {
  int64_t stride = 1;
  *e = (ox_elements){.a = 1, .k = index[axis], .b = 1, .elem = elem, .axis_dim = data[axis], .b_dense = true};
  e->n_a = axis, e->n_b = rank - 1 - axis;
  for (int i = rank - 1; i >= 0; stride *= data[i--]) {
    if (i > axis) {
      e->dim_b[i - axis - 1] = index[i], e->stride_b[i - axis - 1] = stride;
      e->b_dense &= stride == e->b, e->b *= index[i];
    } else if (i < axis) {
      e->dim_a[i] = index[i], e->stride_a[i] = stride, e->a *= index[i];
    } else {
      e->axis_stride = stride;
    }
  }
  e->b_pieces = OX_MAX(OX_CEIL_DIV(e->b, B_PIECE), 1);
  e->k_pieces = scatter ? 1 : OX_MAX(OX_CEIL_DIV(e->k, K_PIECE), 1);
  e->units = e->k && e->b ? e->a * e->k_pieces * e->b_pieces : 0;
}

static int64_t offset_of(int n, const int64_t *dim, const int64_t *stride, int64_t i) {
  int64_t at = 0;
  for (int d = n - 1; d >= 0; d--) at += i % dim[d] * stride[d], i /= dim[d];
  return at;
}

/* The positions of a unit: [k0, k1) x [b0, b1) of one a. */
typedef struct block {
  int64_t base, index, k0, k1, b0, b1; /* base: offset of a in the data; index: position (a, 0, 0) of the indices */
} block;

static block block_of(const ox_elements *e, int64_t unit) {
  if (e->b_pieces == 1 && e->k_pieces == 1 && e->n_a <= 1)
    return (block){.base = e->n_a ? unit * e->stride_a[0] : 0, .index = unit * e->k * e->b, .k1 = e->k, .b1 = e->b};
  int64_t bp = unit % e->b_pieces, kp = unit / e->b_pieces % e->k_pieces, a = unit / e->b_pieces / e->k_pieces;
  int64_t k_len = OX_CEIL_DIV(e->k, e->k_pieces), b_len = OX_CEIL_DIV(e->b, e->b_pieces);
  return (block){.base = offset_of(e->n_a, e->dim_a, e->stride_a, a),
                 .index = a * e->k * e->b,
                 .k0 = OX_MIN(kp * k_len, e->k),
                 .k1 = OX_MIN((kp + 1) * k_len, e->k),
                 .b0 = OX_MIN(bp * b_len, e->b),
                 .b1 = OX_MIN((bp + 1) * b_len, e->b)};
}

enum { CHECK = 4096 }; /* elements between two checks of e->stop */

/* Runs |body| for each position of a unit: |p| in the index, |q| in the data; a bad index ends it. */
#define AT(body)                                                                               \
  do {                                                                                         \
    int64_t v = wide ? ((const ox_i64u *)x->data)[p] : (int64_t)((const ox_i32u *)x->data)[p]; \
    if (OX_UNLIKELY((uint64_t)v >= (uint64_t)dim)) {                                           \
      if (v >= 0 || v < -dim) return p;                                                        \
      v += dim;                                                                                \
    }                                                                                          \
    int64_t q = base + v * stride;                                                             \
    body;                                                                                      \
  } while (0)
#define EACH_ELEMENT(e, x, unit, body)                                                             \
  do {                                                                                             \
    const block r = block_of(e, unit);                                                             \
    const int64_t dim = (e)->axis_dim, stride = (e)->axis_stride;                                  \
    if ((e)->b == 1) {                                                                             \
      const int64_t base = r.base;                                                                 \
      for (int64_t p = r.index + r.k0, end = p; p < r.index + r.k1;) {                             \
        if (ox_stop_asked(&(e)->stop)) return -1;                                                  \
        for (end = OX_MIN(end + CHECK, r.index + r.k1); p < end; p++) AT(body);                    \
      }                                                                                            \
      break;                                                                                       \
    }                                                                                              \
    for (int64_t k = r.k0; k < r.k1 && !(k % 64 == 63 && ox_stop_asked(&(e)->stop)); k++) {        \
      int64_t p = r.index + k * (e)->b + r.b0;                                                     \
      if ((e)->b_dense)                                                                            \
        for (int64_t base = r.base + r.b0, end = r.base + r.b1; base < end; base++, p++) AT(body); \
      else                                                                                         \
        for (int64_t b = r.b0; b < r.b1; b++, p++) {                                               \
          const int64_t base = r.base + offset_of((e)->n_b, (e)->dim_b, (e)->stride_b, b);         \
          AT(body);                                                                                \
        }                                                                                          \
    }                                                                                              \
  } while (0)

OX_INLINE int64_t gather_unit(const ox_elements *e, const char *data, const ox_index *x, char *out, int64_t unit,
                              size_t bytes, bool wide) {
  EACH_ELEMENT(e, x, unit, memcpy(out + p * (int64_t)bytes, data + q * (int64_t)bytes, bytes));
  return -1;
}

OX_INLINE int64_t scatter_unit(const ox_elements *e, char *data, const ox_index *x, const char *from, int64_t unit,
                               size_t bytes, bool wide) {
  EACH_ELEMENT(e, x, unit, memcpy(data + q * (int64_t)bytes, from + p * (int64_t)bytes, bytes));
  return -1;
}

/* Targets of consecutive updates, found some at a time. */
typedef struct targets {
  int64_t at[128], n;
} targets;

OX_INLINE int64_t reduce_unit(const ox_elements *e, char *data, const ox_index *x, const char *from, int64_t unit,
                              ox_combine_fn each, void *ctx, bool wide) {
  targets t;
  int64_t next = 0;
  t.n = 0;
  EACH_ELEMENT(e, x, unit, {
    if (t.n == (int64_t)OX_COUNT(t.at) || p != next) {
      each(data, t.at, from + (next - t.n) * e->elem, t.n, ctx);
      t.n = 0;
    }
    t.at[t.n++] = q;
    next = p + 1;
  });
  each(data, t.at, from + (next - t.n) * e->elem, t.n, ctx);
  return -1;
}

#define BY_SIZE(fn, to, from)                                                             \
  do {                                                                                    \
    switch (e->elem) {                                                                    \
      case 1:                                                                             \
        bad = x->wide ? fn(e, to, x, from, u, 1, true) : fn(e, to, x, from, u, 1, false); \
        break;                                                                            \
      case 2:                                                                             \
        bad = x->wide ? fn(e, to, x, from, u, 2, true) : fn(e, to, x, from, u, 2, false); \
        break;                                                                            \
      case 4:                                                                             \
        bad = x->wide ? fn(e, to, x, from, u, 4, true) : fn(e, to, x, from, u, 4, false); \
        break;                                                                            \
      case 8:                                                                             \
        bad = x->wide ? fn(e, to, x, from, u, 8, true) : fn(e, to, x, from, u, 8, false); \
        break;                                                                            \
      default:                                                                            \
        bad = fn(e, to, x, from, u, 16, x->wide);                                         \
        break;                                                                            \
    }                                                                                     \
  } while (0)

ox_status *ox_elements_gather(const ox_elements *e, const void *data, const ox_index *x, void *out, int64_t begin,
                              int64_t end) {
  int64_t bad = -1;
  for (int64_t u = begin; u < end && bad < 0; u++) BY_SIZE(gather_unit, data, out);
  return bad < 0 ? NULL : ox_index_error("GatherElements", x, bad, e->axis_dim);
}

ox_status *ox_elements_scatter(const ox_elements *e, void *data, const ox_index *x, const void *updates,
                               const ox_combine *combine, void *ctx, int64_t begin, int64_t end) {
  int64_t bad = -1;
  for (int64_t u = begin; u < end && bad < 0; u++) {
    if (combine->each)
      bad = x->wide ? reduce_unit(e, data, x, updates, u, combine->each, ctx, true)
                    : reduce_unit(e, data, x, updates, u, combine->each, ctx, false);
    else
      BY_SIZE(scatter_unit, data, updates);
  }
  return bad < 0 ? NULL : ox_index_error("ScatterElements", x, bad, e->axis_dim);
}
