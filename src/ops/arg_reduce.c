/* SPDX-License-Identifier: Apache-2.0
 * ops/arg_reduce.c - ArgMax and ArgMin: the index of the extreme element along an axis. NaN counts as the extreme,
 * as in NumPy. */
#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, keepdims, select_last_index;
} arg_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(arg_attrs, axis, 0, OX_AXIS_RANGE),
    OX_ATTR_INT(arg_attrs, keepdims, 1),
    OX_ATTR_INT(arg_attrs, select_last_index, 0),
};

static ox_status *infer(ox_infer_ctx *c) {
  const arg_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  ox_shape s = ox_shape_unknown();
  int k;
  if (x->rank >= 0) {
    if (!ox_axis_ok(a->axis, x->rank, &k) && !(x->rank == 0 && a->axis >= -1 && a->axis <= 0))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, (int)x->rank);
    s.rank = 0;
    for (int d = 0; d < x->rank; d++) {
      if (d != k)
        s.dim[s.rank++] = x->dim[d];
      else if (x->dim[d] == 0)
        return ox_fail(OX_SHAPE_MISMATCH, "axis %d is empty: no element is the largest", d);
      else if (a->keepdims)
        s.dim[s.rank++] = 1;
    }
  }
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

typedef struct {
  int64_t n, inner, items;
  bool smallest;
} arg_state;

/* The sign turns ArgMin into ArgMax. */
static ox_status *load_max(ox_load_ctx *c) {
  arg_state *s = OX_LOAD_NEW(c, arg_state);
  if (!s) return ox_oom();
  s->smallest = c->op[4] == 'i'; /* ArgMin */
  c->state = s;
  return NULL;
}

enum { COLUMNS = 64 };

static ox_status *prepare(ox_kernel_ctx *c) {
  const arg_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  arg_state *p = ox_ctx_alloc(c, sizeof *p);
  int64_t outer = 1;
  if (!p) return ox_oom();
  p->n = 1, p->inner = 1, p->smallest = ((const arg_state *)c->state)->smallest;
  if (x->rank > 0) OX_TRY(ox_axis_split(x, a->axis, &outer, &p->n, &p->inner));
  p->items = p->n ? outer * OX_CEIL_DIV(p->inner, COLUMNS) : 0;
  c->prep = p;
  return ox_ctx_plan(c, p->items, 0);
}

/* Adjacent elements replace the best so far if they are better: by |strict| comparison, or also when equal. */
#define BETTER(v, b) \
  ((v) != (v) ? (b) == (b) || last : p->smallest ? (last ? (v) <= (b) : (v) < (b)) : (last ? (v) >= (b) : (v) > (b)))
#define STEP(type)                               \
  for (size_t j = 0; j < width; j++) {           \
    type v = now[j], b = best[j];                \
    if (BETTER(v, b)) best[j] = v, where[j] = r; \
  }

static void piece_f64(const ox_kernel_ctx *c, const arg_state *p, int64_t at, size_t width, int64_t *where) {
  const ox_convert *cv = ox_convert_select(c->isa);
  bool last = ((const arg_attrs *)c->attrs)->select_last_index != 0;
  uint32_t t = c->in[0]->dtype;
  double best[COLUMNS], now[COLUMNS];
  for (int64_t r = 0; r < p->n; r++) {
    cv->load_f64[t](c->in[0]->data, (size_t)(at + r * p->inner), width, r ? now : best);
    if (r == 0) {
      for (size_t j = 0; j < width; j++) where[j] = 0;
      continue;
    }
    STEP(double)
  }
}

static void piece_i64(const ox_kernel_ctx *c, const arg_state *p, int64_t at, size_t width, int64_t *where) {
  const ox_convert *cv = ox_convert_select(c->isa);
  bool last = ((const arg_attrs *)c->attrs)->select_last_index != 0;
  uint32_t t = c->in[0]->dtype;
  int64_t best[COLUMNS], now[COLUMNS];
  for (int64_t r = 0; r < p->n; r++) {
    cv->load_i64[t](c->in[0]->data, (size_t)(at + r * p->inner), width, r ? now : best);
    if (t == OX_U64) /* unsigned order as signed order */
      for (size_t j = 0; j < width; j++) (r ? now : best)[j] ^= INT64_MIN;
    if (r == 0) {
      for (size_t j = 0; j < width; j++) where[j] = 0;
      continue;
    }
    STEP(int64_t)
  }
}

/* Floats along an axis that is not the last, as in segmentation maps. */
static void piece_f32(const ox_kernel_ctx *c, const arg_state *p, int64_t at, size_t width, int64_t *where) {
  int32_t rows[COLUMNS];
  ox_reduce_select(c->isa)->arg_column((const float *)c->in[0]->data + at, width, (size_t)p->n, (size_t)p->inner,
                                       p->smallest, ((const arg_attrs *)c->attrs)->select_last_index != 0, rows);
  for (size_t j = 0; j < width; j++) where[j] = rows[j];
}

/* Other types along the last axis, a block at a time: first its extreme, then, if that is better than what came before,
 * its index. */
#define ROW_OF(work, type, extreme)                                                                 \
  static int64_t row_##work(const ox_kernel_ctx *c, const arg_state *p, int64_t at) {               \
    const ox_convert *cv = ox_convert_select(c->isa);                                               \
    const ox_reduce_table *table = ox_reduce_select(c->isa);                                        \
    bool last = ((const arg_attrs *)c->attrs)->select_last_index != 0;                              \
    uint32_t t = c->in[0]->dtype;                                                                   \
    ox_fold f = p->smallest ? OX_FOLD_MIN : OX_FOLD_MAX;                                            \
    int64_t where = 0;                                                                              \
    type best = 0, now[OX_CONVERT_BLOCK];                                                           \
    for (int64_t r = 0; r < p->n; r += OX_CONVERT_BLOCK) {                                          \
      size_t n = (size_t)OX_MIN(p->n - r, OX_CONVERT_BLOCK), i = last ? n - 1 : 0;                  \
      cv->load_##work[t](c->in[0]->data, (size_t)(at + r), n, now);                                 \
      type v = extreme;                                                                             \
      bool same = v == best || (v != v && best != best);                                            \
      if (r && (same ? !last : best != best || (v == v && beyond_##work(p, t, best, v)))) continue; \
      while (now[i] != v && (v == v || now[i] == now[i])) i = last ? i - 1 : i + 1;                 \
      best = v, where = r + (int64_t)i;                                                             \
    }                                                                                               \
    return where;                                                                                   \
  }
static bool beyond_f64(const arg_state *p, uint32_t t, double a, double b) {
  (void)t;
  return p->smallest ? a < b : a > b;
}
static bool beyond_i64(const arg_state *p, uint32_t t, int64_t a, int64_t b) {
  if (t == OX_U64) return p->smallest ? (uint64_t)a < (uint64_t)b : (uint64_t)a > (uint64_t)b;
  return p->smallest ? a < b : a > b;
}
ROW_OF(f64, double, table->row_f64[f](now, n, 0))
ROW_OF(i64, int64_t, table->row_i64[f](now[0], now, n, t == OX_U64))

/* Unsigned order as signed order. */
static void order_i64(uint32_t t, int64_t *x, int64_t n) {
  for (int64_t i = 0; t == OX_U64 && i < n; i++) x[i] ^= INT64_MIN;
}
static void order_f64(uint32_t t, double *x, int64_t n) { (void)t, (void)x, (void)n; }

/* Short rows one element after the other, from a block of them. */
enum { SHORT = 64 };
#define SCAN_ROWS(work, type)                                                                                   \
  static void scan_rows_##work(const ox_kernel_ctx *c, const arg_state *p, ox_range rows, int64_t *y) {         \
    bool last = ((const arg_attrs *)c->attrs)->select_last_index != 0;                                          \
    uint32_t t = c->in[0]->dtype;                                                                               \
    int64_t most = OX_CONVERT_BLOCK / p->n, m;                                                                  \
    type block[OX_CONVERT_BLOCK];                                                                               \
    for (int64_t i = rows.begin; i < rows.end; i += m) {                                                        \
      m = OX_MIN(rows.end - i, most);                                                                           \
      ox_convert_select(c->isa)->load_##work[t](c->in[0]->data, (size_t)(i * p->n), (size_t)(m * p->n), block); \
      order_##work(t, block, m * p->n);                                                                         \
      const type *x = block;                                                                                    \
      for (int64_t r = 0; r < m; r++, x += p->n) {                                                              \
        type best = x[0];                                                                                       \
        int64_t where = 0;                                                                                      \
        for (int64_t k = 1; k < p->n; k++) {                                                                    \
          bool better = BETTER(x[k], best);                                                                     \
          best = better ? x[k] : best, where = better ? k : where;                                              \
        }                                                                                                       \
        y[i + r] = where;                                                                                       \
      }                                                                                                         \
    }                                                                                                           \
  }
SCAN_ROWS(f64, double)
SCAN_ROWS(i64, int64_t)

static int64_t row_of(const ox_kernel_ctx *c, const arg_state *p, int64_t at) {
  if (c->in[0]->dtype == OX_F32)
    return (int64_t)ox_reduce_select(c->isa)->arg_row((const float *)c->in[0]->data + at, (size_t)p->n, p->smallest,
                                                      ((const arg_attrs *)c->attrs)->select_last_index != 0);
  return ox_dtype_is_float(c->in[0]->dtype) ? row_f64(c, p, at) : row_i64(c, p, at);
}

/* Types whose elements a float holds. */
enum { AS_FLOATS = OX_T_FLOAT16S | OX_BIT(OX_F32) | OX_BIT(OX_I8) | OX_BIT(OX_U8) | OX_BIT(OX_I16) | OX_BIT(OX_U16) };

/* Rows of a few numbers of such a type, several at a time. */
static void short_rows(const ox_kernel_ctx *c, const arg_state *p, ox_range rows, int64_t *y) {
  enum { ROOM = 4096 };
  int32_t where[COLUMNS];
  float wide[ROOM];
  bool last = ((const arg_attrs *)c->attrs)->select_last_index != 0;
  uint32_t t = c->in[0]->dtype;
  int64_t most = t == OX_F32 ? COLUMNS : OX_MIN(COLUMNS, ROOM / p->n);
  for (int64_t i = rows.begin; i < rows.end; i += most) {
    int64_t m = OX_MIN(rows.end - i, most);
    const float *x = t == OX_F32 ? (const float *)c->in[0]->data + i * p->n : wide;
    if (t != OX_F32)
      ox_convert_select(c->isa)->load_f32[t](c->in[0]->data, (size_t)(i * p->n), (size_t)(m * p->n), wide);
    ox_reduce_select(c->isa)->arg_rows(x, (size_t)m, (size_t)p->n, p->smallest, last, where);
    for (int64_t k = 0; k < m; k++) y[i + k] = where[k];
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const arg_state *p = c->prep;
  int64_t pieces = OX_CEIL_DIV(p->inner, COLUMNS), *y = c->out[0]->data;
  uint32_t t = c->in[0]->dtype;
  if (p->inner == 1 && (OX_BIT(t) & AS_FLOATS) && p->n <= (int64_t)ox_reduce_select(c->isa)->arg_rows_most) {
    short_rows(c, p, tiles, y);
    return NULL;
  }
  if (p->inner == 1 && p->n <= SHORT) {
    (ox_dtype_is_float(t) ? scan_rows_f64 : scan_rows_i64)(c, p, tiles, y);
    return NULL;
  }
  if (p->inner == 1) {
    for (int64_t i = tiles.begin; i < tiles.end; i++) y[i] = row_of(c, p, i * p->n);
    return NULL;
  }
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t column = i % pieces * COLUMNS, o = i / pieces, at = o * p->n * p->inner + column;
    size_t width = (size_t)OX_MIN(p->inner - column, COLUMNS);
    int64_t *where = y + o * p->inner + column;
    if (c->in[0]->dtype == OX_F32 && p->n <= INT32_MAX)
      piece_f32(c, p, at, width, where);
    else if (ox_dtype_is_float(c->in[0]->dtype))
      piece_f64(c, p, at, width, where);
    else
      piece_i64(c, p, at, width, where);
  }
  return NULL;
}

#define ROW(op)                                                                         \
  {                                                                                     \
    OX_SCHEMA(.name = op, .since = 1, .types = {OX_T_NUMBER}, .min_in = 1, .max_in = 1, \
              .attrs_bytes = sizeof(arg_attrs), OX_ATTRS(attrs), .infer = infer),       \
        OX_KERNEL(.load = load_max, .prepare = prepare, .run = run)                     \
  }

static const ox_op ops[] = {
    ROW("ArgMax"),
    ROW("ArgMin"),
};
const ox_op_set ox_ops_arg_reduce = {ops, OX_COUNT(ops)};
