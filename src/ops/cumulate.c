/* SPDX-License-Identifier: Apache-2.0
 * ops/cumulate.c - CumSum and CumProd: running sums and products along an axis, from either end. */
#include <string.h>

#include "kern/binary/binary.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t exclusive, reverse;
} cumulate_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT(cumulate_attrs, exclusive, 0),
    OX_ATTR_INT(cumulate_attrs, reverse, 0),
};

/* COLUMNS: of a slice. WHOLE: of a slice that adds whole rows; slices side by side are added as one, since parts of
 * rows are read more slowly than whole ones, up to MERGED, so that several rows stay in L1. */
enum { COLUMNS = 64, WHOLE = 512, MERGED = 4, WIDE = 16 };

/* The axis may be known only in a run, since any axis gives the same output shape. Then there is one tile. */
typedef struct {
  bool known;
  int64_t axis;
} cumulate_prep;

static ox_status *axis_of(const ox_tensor *t, int64_t *axis) {
  if (ox_shape_count(&t->shape) != 1) return ox_fail(OX_SHAPE_MISMATCH, "the axis must be one number");
  *axis = t->dtype == OX_I32 ? *(const int32_t *)t->data : *(const int64_t *)t->data;
  return NULL;
}

static bool adds_whole_rows(const ox_kernel_ctx *c, int64_t inner) {
  return inner >= WIDE && !(OX_BIT(c->in[0]->dtype) & OX_T_FLOAT16S);
}
static int64_t columns_of(const ox_kernel_ctx *c, int64_t inner) { return adds_whole_rows(c, inner) ? WHOLE : COLUMNS; }

static ox_status *prepare(ox_kernel_ctx *c) {
  cumulate_prep *p = ox_ctx_alloc(c, sizeof *p);
  int64_t outer = 1, n = 1, inner = 1;
  if (!p) return ox_oom();
  c->prep = p;
  if (!c->in[1]->data) return ox_ctx_plan(c, 1, 0);
  OX_TRY(axis_of(c->in[1], &p->axis));
  if (c->in[0]->shape.rank > 0) OX_TRY(ox_axis_split(&c->in[0]->shape, p->axis, &outer, &n, &inner));
  p->known = true;
  return ox_ctx_plan(c, n ? outer * OX_CEIL_DIV(inner, columns_of(c, inner)) : 0, 0);
}

/* Each row of outputs is the row before it combined with a row of inputs: |width| columns of a type that is its own
 * working type. */
static void whole_rows(const ox_kernel_ctx *c, ox_binary f, int64_t at, int64_t n, int64_t inner, size_t width) {
  const cumulate_attrs *a = c->attrs;
  uint32_t t = c->in[0]->dtype;
  size_t size = ox_dtype_bits(t) / 8;
  ox_binary_fn *join = ox_binary_select(c->isa)->fn[f][t];
  ptrdiff_t step = (ptrdiff_t)((size_t)inner * size) * (a->reverse ? -1 : 1);
  size_t first = (size_t)(at + (a->reverse ? (n - 1) * inner : 0));
  const char *x = (const char *)c->in[0]->data + first * size;
  char *y = (char *)c->out[0]->data + first * size;
  if (a->exclusive) {
    int64_t none = f == OX_BIN_MUL;
    for (size_t j = 0; j < width; j++)
      ox_convert_select(c->isa)->store_i64[t](&none, c->out[0]->data, first + j, 1, NULL);
  } else {
    memcpy(y, x, width * size);
    x += step;
  }
  for (int64_t i = 1; i < n && !ox_ctx_stopped_each(c, i, 256); i++, x += step, y += step)
    join(y, x, y + step, width, 0);
}

enum { ONCE = 16384 /* elements between two checks for a stop */ };

/* A slice of |width| columns; sums of 16-bit floats run in float, rounded at each output. */
#define CUMULATE(name, type, native, load, store, combine, first)                                                    \
  static void name(const ox_kernel_ctx *c, int64_t at, int64_t n, int64_t inner, size_t width) {                     \
    const cumulate_attrs *a = c->attrs;                                                                              \
    const ox_convert *cv = ox_convert_select(c->isa);                                                                \
    uint32_t t = c->in[0]->dtype;                                                                                    \
    type sum[COLUMNS], x[COLUMNS];                                                                                   \
    for (size_t j = 0; j < width; j++) sum[j] = first;                                                               \
    for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 256); i++) {                                             \
      size_t r = (size_t)(at + (a->reverse ? n - 1 - i : i) * inner);                                                \
      cv->load[t](c->in[0]->data, r, width, x);                                                                      \
      if (a->exclusive) cv->store[t](sum, c->out[0]->data, r, width, NULL);                                          \
      for (size_t j = 0; j < width; j++) combine;                                                                    \
      if (!a->exclusive) cv->store[t](sum, c->out[0]->data, r, width, NULL);                                         \
    }                                                                                                                \
  }                                                                                                                  \
  /* along a contiguous row, |step| 1 or -1 */                                                                       \
  static void name##_here(const ox_kernel_ctx *c, const type *from, type *to, int64_t n, int64_t step) {             \
    bool exclusive = ((const cumulate_attrs *)c->attrs)->exclusive != 0;                                             \
    enum { j = 0 };                                                                                                  \
    type sum[1] = {first}, x[1];                                                                                     \
    for (int64_t i = 0; i < n && !(i && ox_ctx_stopped(c)); i += ONCE)                                               \
      for (int64_t end = OX_MIN(i + ONCE, n), k = i; k < end; k++, from += step, to += step) {                       \
        x[0] = *from;                                                                                                \
        if (exclusive) *to = sum[0];                                                                                 \
        combine;                                                                                                     \
        if (!exclusive) *to = sum[0];                                                                                \
      }                                                                                                              \
  }                                                                                                                  \
  /* along any row, a block at a time */                                                                             \
  static void name##_row(const ox_kernel_ctx *c, int64_t at, int64_t n) {                                            \
    const cumulate_attrs *a = c->attrs;                                                                              \
    const ox_convert *cv = ox_convert_select(c->isa);                                                                \
    uint32_t t = c->in[0]->dtype;                                                                                    \
    if (t == native) {                                                                                               \
      int64_t begin = at + (a->reverse ? n - 1 : 0);                                                                 \
      name##_here(c, (const type *)c->in[0]->data + begin, (type *)c->out[0]->data + begin, n, a->reverse ? -1 : 1); \
      return;                                                                                                        \
    }                                                                                                                \
    enum { j = 0 };                                                                                                  \
    type sum[1] = {first}, block[OX_CONVERT_BLOCK];                                                                  \
    for (int64_t done = 0; done < n && !ox_ctx_stopped(c); done += OX_CONVERT_BLOCK) {                               \
      int64_t m = OX_MIN(n - done, OX_CONVERT_BLOCK), from = at + (a->reverse ? n - done - m : done);                \
      cv->load[t](c->in[0]->data, (size_t)from, (size_t)m, block);                                                   \
      for (int64_t i = 0; i < m; i++) {                                                                              \
        type *b = &block[a->reverse ? m - 1 - i : i], x[1] = {*b};                                                   \
        if (a->exclusive) *b = sum[0];                                                                               \
        combine;                                                                                                     \
        if (!a->exclusive) *b = sum[0];                                                                              \
      }                                                                                                              \
      cv->store[t](block, c->out[0]->data, (size_t)from, (size_t)m, NULL);                                           \
    }                                                                                                                \
  }
CUMULATE(sum_f32, float, OX_F32, load_f32, store_f32, sum[j] += x[j], 0)
CUMULATE(sum_f64, double, OX_F64, load_f64, store_f64, sum[j] += x[j], 0)
CUMULATE(sum_i64, int64_t, OX_I64, load_i64, store_i64, sum[j] = (int64_t)((uint64_t)sum[j] + (uint64_t)x[j]), 0)
CUMULATE(prod_f32, float, OX_F32, load_f32, store_f32, sum[j] *= x[j], 1)
CUMULATE(prod_f64, double, OX_F64, load_f64, store_f64, sum[j] *= x[j], 1)
CUMULATE(prod_i64, int64_t, OX_I64, load_i64, store_i64, sum[j] = (int64_t)((uint64_t)sum[j] * (uint64_t)x[j]), 1)

/* By working type: float, double, int64. */
typedef struct {
  ox_binary join;
  void (*slice[3])(const ox_kernel_ctx *c, int64_t at, int64_t n, int64_t inner, size_t width);
  void (*row[3])(const ox_kernel_ctx *c, int64_t at, int64_t n);
} cumulation;
static const cumulation sums = {OX_BIN_ADD, {sum_f32, sum_f64, sum_i64}, {sum_f32_row, sum_f64_row, sum_i64_row}};
static const cumulation products = {
    OX_BIN_MUL, {prod_f32, prod_f64, prod_i64}, {prod_f32_row, prod_f64_row, prod_i64_row}};

static ox_status *run_all(const ox_kernel_ctx *c, ox_range tiles, const cumulation *f) {
  const cumulate_prep *p = c->prep;
  int64_t outer = 1, n = 1, inner = 1, axis = p->axis;
  uint32_t t = c->in[0]->dtype;
  if (!p->known) OX_TRY(axis_of(c->in[1], &axis));
  if (c->in[0]->shape.rank > 0) OX_TRY(ox_axis_split(&c->in[0]->shape, axis, &outer, &n, &inner));
  int64_t columns = columns_of(c, inner), pieces = OX_CEIL_DIV(inner, columns);
  if (!p->known) tiles = (ox_range){0, outer * pieces};
  int kind = t == OX_F64 ? 1 : ox_dtype_is_float(t) ? 0 : 2;
  for (int64_t i = tiles.begin, m; i < tiles.end; i += m) {
    int64_t piece = i % pieces, column = piece * columns, at = i / pieces * n * inner + column;
    m = adds_whole_rows(c, inner) ? OX_MIN(OX_MIN(tiles.end - i, pieces - piece), MERGED) : 1;
    size_t width = (size_t)OX_MIN(inner - column, m * columns);
    if (inner == 1)
      f->row[kind](c, i * n, n);
    else if (adds_whole_rows(c, inner))
      whole_rows(c, f->join, at, n, inner, width);
    else
      f->slice[kind](c, at, n, inner, width);
  }
  return NULL;
}

static ox_status *run_sum(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_all(c, tiles, &sums);
}

static ox_status *run_prod(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_all(c, tiles, &products);
}

#define ROW(op, ver, fn)                                                                                \
  {                                                                                                     \
    OX_SCHEMA(.name = op, .since = ver, .types = {OX_T_NUMBER, OX_T_INDEX}, .min_in = 2, .max_in = 2,   \
              .attrs_bytes = sizeof(cumulate_attrs), OX_ATTRS(attrs), .infer = ox_infer_same_as_input), \
        OX_KERNEL(.prepare = prepare, .run = fn)                                                        \
  }

static const ox_op ops[] = {
    ROW("CumSum", 11, run_sum),
    ROW("CumProd", 26, run_prod),
};
const ox_op_set ox_ops_cumulate = {ops, OX_COUNT(ops)};
