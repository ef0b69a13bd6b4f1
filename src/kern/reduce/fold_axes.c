/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_axes.c - the loops over dimensions; the arithmetic is in reduce.h. Two ways: along contiguous folded
 * runs (rows), or over contiguous kept runs with an array of accumulators (columns). */
#include "kern/reduce/fold.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "kern/quant/convert.h"
#include "kern/reduce/fold_small.h"

enum { BLOCK = OX_FOLD_BATCH };

static bool is_float(uint32_t dtype) {
  return dtype == OX_F32 || dtype == OX_F64 || dtype == OX_F16 || dtype == OX_BF16;
}
static size_t size_of(uint32_t dtype) {
  switch (dtype) {
    case OX_F64:
    case OX_I64:
    case OX_U64:
      return 8;
    case OX_F32:
    case OX_I32:
    case OX_U32:
      return 4;
    case OX_F16:
    case OX_BF16:
    case OX_I16:
    case OX_U16:
      return 2;
    default:
      return 1;
  }
}

void ox_fold_plan_init(ox_fold_plan *p, const ox_shape *shape, const bool *fold_axis) {
  *p = (ox_fold_plan){.outputs = 1, .length = 1};
  int64_t stride = 1;
  int last = -1;                               /* kind of the dimension inside this one: 0 kept, 1 folded */
  for (int d = shape->rank - 1; d >= 0; d--) { /* innermost first; reversed below */
    int64_t extent = shape->dim[d], at = stride;
    stride *= extent;
    *(fold_axis[d] ? &p->length : &p->outputs) *= extent;
    if (extent == 1) continue;
    int *n = fold_axis[d] ? &p->n_folded : &p->n_kept;
    int64_t *dim = fold_axis[d] ? p->folded : p->kept;
    int64_t *step = fold_axis[d] ? p->folded_stride : p->kept_stride;
    if (last < 0) p->columns = !fold_axis[d];
    if (last == (int)fold_axis[d])
      dim[*n - 1] *= extent;
    else
      dim[*n] = extent, step[*n] = at, (*n)++;
    last = fold_axis[d];
  }
}

ox_fold_acc ox_fold_identity(ox_fold f, uint32_t dtype) {
  static const int64_t least[OX_DTYPE_COUNT] = {
      [OX_I8] = INT8_MIN, [OX_I16] = INT16_MIN, [OX_I32] = INT32_MIN, [OX_I64] = INT64_MIN};
  static const int64_t most[OX_DTYPE_COUNT] = {
      [OX_I8] = INT8_MAX,    [OX_I16] = INT16_MAX,  [OX_I32] = INT32_MAX, [OX_I64] = INT64_MAX, [OX_U8] = UINT8_MAX,
      [OX_U16] = UINT16_MAX, [OX_U32] = UINT32_MAX, [OX_U64] = -1,        [OX_BOOL] = 1};
  bool fl = is_float(dtype);
  switch (f) {
    case OX_FOLD_PROD:
      return fl ? (ox_fold_acc){.f = 1} : (ox_fold_acc){.i = 1};
    case OX_FOLD_MAX:
      return fl ? (ox_fold_acc){.f = -INFINITY} : (ox_fold_acc){.i = least[dtype]};
    case OX_FOLD_MIN:
      return fl ? (ox_fold_acc){.f = INFINITY} : (ox_fold_acc){.i = most[dtype]};
    default:
      return fl ? (ox_fold_acc){.f = 0} : (ox_fold_acc){.i = 0};
  }
}

OX_INLINE double join_f64(ox_fold f, double a, double b) {
  switch (f) {
    case OX_FOLD_PROD:
      return a * b;
    case OX_FOLD_MAX:
      return a != a ? a : b > a || b != b ? b : a;
    case OX_FOLD_MIN:
      return a != a ? a : b < a || b != b ? b : a;
    default:
      return a + b;
  }
}

ox_fold_acc ox_fold_join(ox_fold f, uint32_t dtype, ox_fold_acc a, ox_fold_acc b) {
  if (is_float(dtype)) return (ox_fold_acc){.f = join_f64(f, a.f, b.f)};
  ox_fold g = f == OX_FOLD_ABS || f == OX_FOLD_SQUARE ? OX_FOLD_SUM : f; /* parts are sums of values already mapped */
  return (ox_fold_acc){.i = ox_reduce_select(0)->row_i64[g](a.i, &b.i, 1, dtype == OX_U64)};
}

/* Where output |o|'s elements begin. */
static int64_t base_of(const ox_fold_plan *p, int64_t o) {
  int64_t off = 0;
  for (int d = 0; d < p->n_kept; d++) off += o % p->kept[d] * p->kept_stride[d], o /= p->kept[d];
  return off;
}

/* A position among the folded elements, visited in row-major order, in runs along the innermost folded dimension. */
typedef struct {
  int64_t index[OX_MAX_RANK], off;
} walk;

static void walk_to(const ox_fold_plan *p, int64_t r, walk *w) {
  w->off = 0;
  for (int d = 0; d < p->n_folded; d++) {
    w->index[d] = r % p->folded[d], r /= p->folded[d];
    w->off += w->index[d] * p->folded_stride[d];
  }
}

static void walk_on(const ox_fold_plan *p, int64_t run, walk *w) {
  w->index[0] += run, w->off += run * p->folded_stride[0];
  for (int d = 0; d < p->n_folded && w->index[d] == p->folded[d]; d++) {
    w->off -= w->index[d] * p->folded_stride[d], w->index[d] = 0;
    if (d + 1 < p->n_folded) w->index[d + 1]++, w->off += p->folded_stride[d + 1];
  }
}

/* ---- rows ---- */
static ox_fold_acc fold_run(const ox_fold_job *j, ox_fold f, const char *x, int64_t n, double shift, ox_fold_acc acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  if (j->dtype == OX_F32)
    return (ox_fold_acc){.f = join_f64(f, acc.f, t->row[f]((const float *)x, (size_t)n, (float)shift))};
  if (j->dtype == OX_F64)
    return (ox_fold_acc){.f = join_f64(f, acc.f, t->row_f64[f]((const double *)x, (size_t)n, shift))};
  if (!is_float(j->dtype) && (f == OX_FOLD_MAX || f == OX_FOLD_MIN)) {
    int64_t v = (f == OX_FOLD_MAX ? t->most : t->least)[j->dtype](x, (size_t)n);
    return (ox_fold_acc){.i = t->row_i64[f](acc.i, &v, 1, j->dtype == OX_U64)};
  }
  const ox_convert *cv = ox_convert_select(j->isa);
  for (int64_t i = 0; i < n; i += BLOCK) {
    size_t m = (size_t)OX_MIN(n - i, BLOCK);
    if (is_float(j->dtype)) {
      float block[BLOCK];
      cv->load_f32[j->dtype](x, (size_t)i, m, block);
      acc.f = join_f64(f, acc.f, t->row[f](block, m, (float)shift));
    } else {
      int64_t block[BLOCK];
      cv->load_i64[j->dtype](x, (size_t)i, m, block);
      acc.i = t->row_i64[f](acc.i, block, m, j->dtype == OX_U64);
    }
  }
  return acc;
}

static void fold_rows(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                      const double *shift, ox_fold_acc *acc) {
  const ox_fold_plan *p = j->plan;
  size_t size = size_of(j->dtype);
  int64_t last = p->n_folded ? p->folded[0] : 1;
  walk start;
  walk_to(p, begin, &start);
  for (int64_t k = 0; k < n; k++) {
    const char *x = (const char *)j->data + (size_t)base_of(p, out + k) * size;
    walk w = start;
    acc[k] = ox_fold_identity(f, j->dtype);
    for (int64_t r = begin; r < end;) {
      int64_t run = OX_MIN(p->n_folded ? last - w.index[0] : 1, end - r);
      acc[k] = fold_run(j, f, x + (size_t)w.off * size, run, shift ? shift[k] : 0, acc[k]);
      walk_on(p, run, &w);
      r += run;
    }
  }
}

/* Rows one behind the other: of floats or doubles, and of integers whose extremes are wanted. */
static bool lies_flat(const ox_fold_plan *p) { return p->n_folded == 1 && p->n_kept <= 1 && p->folded_stride[0] == 1; }
static bool folds_flat(const ox_fold_job *j, uint32_t dtype) { return j->dtype == dtype && lies_flat(j->plan); }
static bool folds_integers(const ox_fold_job *j, ox_fold f) {
  return !is_float(j->dtype) && (f == OX_FOLD_MAX || f == OX_FOLD_MIN) && lies_flat(j->plan);
}

static void fold_integers(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  size_t size = size_of(j->dtype), row = (size_t)j->plan->folded[0] * size;
  const char *x = (const char *)j->data + (size_t)out * row + (size_t)begin * size;
  for (int64_t k = 0; k < n; k++, x += row)
    acc[k].i = (f == OX_FOLD_MAX ? t->most : t->least)[j->dtype](x, (size_t)(end - begin));
}

static void fold_flat(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                      const double *shift, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  int64_t row = j->plan->folded[0];
  const float *x = (const float *)j->data + out * row + begin;
  for (int64_t k = 0; k < n; k++, x += row) acc[k].f = t->row[f](x, (size_t)(end - begin), shift ? (float)shift[k] : 0);
}

static void fold_flat_f64(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          const double *shift, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  int64_t row = j->plan->folded[0];
  const double *x = (const double *)j->data + out * row + begin;
  for (int64_t k = 0; k < n; k++, x += row) acc[k].f = t->row_f64[f](x, (size_t)(end - begin), shift ? shift[k] : 0);
}

/* Very short rows are folded in double without vectors: products up to SHORT_ROW elements, sums up to TINY_ROW. */
enum { SHORT_ROW = 16, TINY_ROW = 4 };

static bool folds_tiny(const ox_fold_job *j, ox_fold f) {
  if (!folds_flat(j, OX_F32)) return false;
  if (f == OX_FOLD_PROD) return j->plan->folded[0] <= SHORT_ROW;
  return (f == OX_FOLD_SUM || f == OX_FOLD_ABS || f == OX_FOLD_SQUARE) && j->plan->folded[0] <= TINY_ROW;
}

static void fold_tiny(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                      ox_fold_acc *acc) {
  int64_t row = j->plan->folded[0];
  const float *x = (const float *)j->data + out * row;
#define TINY(fold, none, next)                  \
  case fold:                                    \
    for (int64_t k = 0; k < n; k++, x += row) { \
      double a = none;                          \
      for (int64_t i = begin; i < end; i++) {   \
        double v = (double)x[i];                \
        a = (next);                             \
      }                                         \
      acc[k].f = a;                             \
    }                                           \
    break; /* a loop for each */
  switch (f) {
    TINY(OX_FOLD_SUM, 0, a + v)
    TINY(OX_FOLD_ABS, 0, a + fabs(v))
    TINY(OX_FOLD_SQUARE, 0, a + v * v)
    TINY(OX_FOLD_PROD, 1, a * v)
    default:
      break;
  }
#undef TINY
}

/* Short rows of floats, of which several in a row are a constant step apart. */
static bool folds_short(const ox_fold_job *j, ox_fold f) {
  enum { SOME = 4 };
  const ox_fold_plan *p = j->plan;
  return j->dtype == OX_F32 && f != OX_FOLD_EXP && f != OX_FOLD_PROD && !p->columns && p->n_folded > 0 &&
         p->folded[0] <= OX_FOLD_SHORT && p->n_kept > 0 && p->kept[0] >= SOME;
}

static void join_floats(ox_fold f, ox_fold_acc *acc, const float *part, size_t n);

static void fold_short(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                       ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  const ox_fold_plan *p = j->plan;
  float part[BLOCK];
  walk start;
  walk_to(p, begin, &start);
  while (n > 0) {
    int64_t m = OX_MIN(n, p->kept[0] - out % p->kept[0]);
    const float *x = (const float *)j->data + base_of(p, out);
    walk w = start;
    for (int64_t r = begin; r < end;) {
      int64_t run = OX_MIN(p->folded[0] - w.index[0], end - r);
      t->rows[f](x + w.off, (size_t)m, (size_t)run, (size_t)p->kept_stride[0], part);
      if (r == begin)
        for (int64_t k = 0; k < m; k++) acc[k].f = (double)part[k];
      else
        join_floats(f, acc, part, (size_t)m);
      walk_on(p, run, &w);
      r += run;
    }
    out += m, n -= m, acc += m;
  }
}

/* ---- columns ---- */
/* Narrow rows are joined to wide ones of up to so many elements, so that there are several independent vectors. */
enum { WIDE = 64, WIDER = 256, WIDE_ROWS = 8, WIDER_ROWS = 4 };

/* |width| accumulators. Floats are accumulated in |part| for OX_FOLD_ROWS rows, then added to |wide|. */
typedef struct {
  const ox_fold_job *j;
  const ox_reduce_table *t;
  const ox_convert *cv;
  ox_fold f;
  bool through_f32;
  size_t width;
  int rows;
  float part[BLOCK], shift32[BLOCK];
  double shift64[BLOCK];
  ox_fold_acc wide[BLOCK];
} column_state;

static void reset_part(column_state *s) {
  float v = (float)ox_fold_identity(s->f, OX_F32).f;
  for (size_t i = 0; i < s->width; i++) s->part[i] = v;
  s->rows = 0;
}

static bool adds_up(ox_fold f) { return f != OX_FOLD_PROD && f != OX_FOLD_MAX && f != OX_FOLD_MIN; }

/* Combines n accumulators with |part|; sums, the usual case, in a loop without branches. */
static void join_floats(ox_fold f, ox_fold_acc *acc, const float *part, size_t n) {
  if (adds_up(f)) {
    for (size_t i = 0; i < n; i++) acc[i].f += (double)part[i];
  } else {
    for (size_t i = 0; i < n; i++) acc[i].f = join_f64(f, acc[i].f, (double)part[i]);
  }
}

static void join_accs(const ox_reduce_table *t, ox_fold f, uint32_t dtype, ox_fold_acc *acc, const ox_fold_acc *part,
                      size_t n) {
  ox_fold g = adds_up(f) ? OX_FOLD_SUM : f; /* the parts are mapped already */
  if (is_float(dtype))
    t->column_f64[g](&acc->f, &part->f, n, NULL);
  else
    t->column_i64[g](&acc->i, &part->i, n, dtype == OX_U64);
}

static void flush(column_state *s) {
  if (s->through_f32 && s->rows) {
    join_floats(s->f, s->wide, s->part, s->width);
    reset_part(s);
  }
  s->rows = 0;
}

/* |rows| rows of n elements, |pitch| apart. */
static void add_rows(column_state *s, const char *x, size_t n, size_t rows, size_t pitch) {
  uint32_t t = s->j->dtype;
  size_t size = size_of(t);
  const float *shift = s->f == OX_FOLD_EXP ? s->shift32 : NULL;
  while (rows > 0) {
    size_t m = !s->through_f32 ? 1 : OX_MIN(rows, (size_t)(OX_FOLD_ROWS - s->rows));
    if (s->through_f32 && s->f == OX_FOLD_PROD) { /* which leaves float's range quickly */
      double block[BLOCK];
      s->cv->load_f64[t](x, 0, n, block);
      s->t->column_f64[OX_FOLD_PROD](&s->wide[0].f, block, n, NULL);
      x += pitch * size, rows--;
      continue;
    }
    if (t == OX_F32) {
      s->t->column[s->f](s->part, (const float *)x, n, shift, m, pitch);
    } else if (t == OX_F64) {
      s->t->column_f64[s->f](&s->wide[0].f, (const double *)x, n, s->shift64);
    } else if (s->through_f32) {
      float block[BLOCK];
      m = 1;
      s->cv->load_f32[t](x, 0, n, block);
      s->t->column[s->f](s->part, block, n, shift, 1, n);
    } else {
      int64_t block[BLOCK];
      s->cv->load_i64[t](x, 0, n, block);
      s->t->column_i64[s->f](&s->wide[0].i, block, n, t == OX_U64);
    }
    s->rows += (int)m, rows -= m, x += m * pitch * size;
    if (s->rows == OX_FOLD_ROWS || !s->through_f32) flush(s);
  }
}

/* Columns [first, first + n) of the innermost kept dimension. Narrow ones: |group| whole rows count as one wide row. */
static void fold_piece(const ox_fold_job *j, ox_fold f, const char *x, int64_t n, int64_t group, int64_t begin,
                       int64_t end, const double *shift, ox_fold_acc *acc) {
  const ox_fold_plan *p = j->plan;
  size_t size = size_of(j->dtype);
  column_state s;
  s.j = j, s.f = f, s.rows = 0, s.width = (size_t)(n * group);
  s.t = ox_reduce_select(j->isa), s.cv = ox_convert_select(j->isa);
  s.through_f32 = is_float(j->dtype) && j->dtype != OX_F64;
  if (s.through_f32) reset_part(&s);
  ox_fold_acc none = ox_fold_identity(f, j->dtype);
  for (size_t i = 0; i < s.width; i++) s.wide[i] = none;
  for (size_t i = 0; i < s.width && f == OX_FOLD_EXP; i++)
    s.shift64[i] = shift ? shift[(int64_t)i % n] : 0, s.shift32[i] = (float)s.shift64[i];
  walk w;
  walk_to(p, begin, &w);
  for (int64_t r = begin; r < end;) {
    int64_t run = OX_MIN(p->n_folded ? p->folded[0] - w.index[0] : 1, end - r);
    int64_t whole = run / group, rest = run % group, step = p->n_folded ? p->folded_stride[0] : 0;
    const char *at = x + (size_t)w.off * size;
    add_rows(&s, at, (size_t)(n * group), (size_t)whole, (size_t)(step * group));
    if (rest) add_rows(&s, at + (size_t)(whole * group * step) * size, (size_t)(n * rest), 1, 0);
    walk_on(p, run, &w);
    r += run;
  }
  flush(&s);
  for (int64_t g = 1; g < group; g++) join_accs(s.t, f, j->dtype, s.wide, s.wide + g * n, (size_t)n);
  memcpy(acc, s.wide, (size_t)n * sizeof *acc);
}

/* Float sums over the pixels of tensors in blocks of channels: folded rows of 16 that follow each other. */
static bool folds_lanes(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n) {
  const ox_fold_plan *p = j->plan;
  return f == OX_FOLD_SUM && j->dtype == OX_F32 && p->n_folded == 1 && p->folded_stride[0] == OX_FOLD_LANES &&
         p->kept[0] == OX_FOLD_LANES && out % OX_FOLD_LANES == 0 && n % OX_FOLD_LANES == 0;
}

static void fold_lanes(const ox_fold_job *j, int64_t out, int64_t n, int64_t begin, int64_t end, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  double sum[OX_FOLD_LANES];
  for (int64_t o = out; o < out + n; o += OX_FOLD_LANES, acc += OX_FOLD_LANES) {
    memset(sum, 0, sizeof sum);
    t->sum_lanes(sum, (const float *)j->data + base_of(j->plan, o) + begin * OX_FOLD_LANES, (size_t)(end - begin));
    for (int i = 0; i < OX_FOLD_LANES; i++) acc[i].f = sum[i];
  }
}

/* Extremes of floats down columns in one go: they are exact, so nothing need move to double. */
static bool folds_extremes(const ox_fold_job *j, ox_fold f) {
  const ox_fold_plan *p = j->plan;
  bool flat = p->n_folded == 1 && (p->kept[0] >= OX_FOLD_LANES || p->folded_stride[0] == p->kept[0]);
  return (f == OX_FOLD_MAX || f == OX_FOLD_MIN) && j->dtype == OX_F32 && flat;
}

static void fold_extremes(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  const ox_fold_plan *p = j->plan;
  int64_t row = p->kept[0], step = p->folded_stride[0], rows = end - begin;
  float best[BLOCK];
  while (n > 0) {
    int64_t m = OX_MIN(n, row - out % row), group = 1;
    if (m == row && step == row) group = OX_MAX(OX_MIN(WIDE / row, rows), 1); /* some narrow rows count as a wide one */
    const float *x = (const float *)j->data + base_of(p, out) + begin * step;
    int64_t whole = rows / group, rest = rows % group;
    memcpy(best, x, (size_t)(m * group) * sizeof *best);
    t->column[f](best, x + step * group, (size_t)(m * group), NULL, (size_t)(whole - 1), (size_t)(step * group));
    if (rest) t->column[f](best, x + whole * group * step, (size_t)(m * rest), NULL, 1, 0);
    for (int64_t half; group > 1; group -= half) {
      half = group / 2;
      t->column[f](best, best + (group - half) * m, (size_t)(m * half), NULL, 1, 0);
    }
    for (int64_t i = 0; i < m; i++) acc[i].f = (double)best[i];
    out += m, n -= m, acc += m;
  }
}

void ox_fold_run(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                 const double *shift, ox_fold_acc *acc) {
  const ox_fold_plan *p = j->plan;
  if (begin >= end) {
    for (int64_t k = 0; k < n; k++) acc[k] = ox_fold_identity(f, j->dtype);
    return;
  }
  if (folds_tiny(j, f)) {
    fold_tiny(j, f, out, n, begin, end, acc);
    return;
  }
  if (folds_short(j, f)) {
    fold_short(j, f, out, n, begin, end, acc);
    return;
  }
  if (folds_flat(j, OX_F32)) {
    fold_flat(j, f, out, n, begin, end, shift, acc);
    return;
  }
  if (ox_fold_is_small(j)) {
    ox_fold_small(j, f, out, n, begin, end, shift, acc);
    return;
  }
  if (folds_integers(j, f)) {
    fold_integers(j, f, out, n, begin, end, acc);
    return;
  }
  if (folds_flat(j, OX_F64)) {
    fold_flat_f64(j, f, out, n, begin, end, shift, acc);
    return;
  }
  if (!p->columns) {
    fold_rows(j, f, out, n, begin, end, shift, acc);
    return;
  }
  if (folds_lanes(j, f, out, n)) {
    fold_lanes(j, out, n, begin, end, acc);
    return;
  }
  if (folds_extremes(j, f)) {
    fold_extremes(j, f, out, n, begin, end, acc);
    return;
  }
  bool goes_wide = j->dtype == OX_F64 || !is_float(j->dtype); /* row by row, each in calls of its own */
  int64_t row = p->kept[0];
  while (n > 0) {
    int64_t column = out % row, m = OX_MIN(n, row - column), group = 1;
    if (m == row && p->n_folded && p->folded_stride[0] == row)
      group = goes_wide ? OX_MIN(WIDER / row, p->folded[0] / WIDER_ROWS) : OX_MIN(WIDE / row, p->folded[0] / WIDE_ROWS);
    group = OX_MAX(group, 1);
    fold_piece(j, f, (const char *)j->data + (size_t)base_of(p, out) * size_of(j->dtype), m, group, begin, end, shift,
               acc);
    out += m, n -= m, acc += m;
    if (shift) shift += m;
  }
}
