/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_columns.c - down columns: over contiguous kept runs, with an array of accumulators. */
#include <string.h>

#include "kern/quant/convert.h"
#include "kern/reduce/fold_walk.h"

enum { BLOCK = OX_FOLD_BATCH };

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

static void flush(column_state *s) {
  if (s->through_f32 && s->rows) {
    if (adds_up(s->f))
      s->t->add_lines(&s->wide[0].f, s->width, s->part, s->width, 1, s->width);
    else
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
  for (int64_t g = 1; g < group; g++) ox_fold_join_all(j->isa, f, j->dtype, s.wide, s.wide + g * n, n);
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

/* Sums of few rows of floats, which fold_piece would move to its wide accumulators once, at the end. */
static bool folds_few(const ox_fold_job *j, ox_fold f, int64_t rows) {
  const ox_fold_plan *p = j->plan;
  return adds_up(f) && f != OX_FOLD_EXP && j->dtype == OX_F32 && p->n_folded == 1 && rows <= OX_FOLD_ROWS &&
         p->kept[0] >= WIDE;
}

static void fold_few(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                     ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  const ox_convert *cv = ox_convert_select(j->isa);
  const ox_fold_plan *p = j->plan;
  int64_t step = p->folded_stride[0];
  float part[BLOCK];
  for (int64_t m; n > 0; out += m, n -= m, acc += m) {
    m = OX_MIN(n, p->kept[0] - out % p->kept[0]);
    memset(part, 0, (size_t)m * sizeof *part);
    t->column[f](part, (const float *)j->data + base_of(p, out) + begin * step, (size_t)m, NULL, (size_t)(end - begin),
                 (size_t)step);
    cv->load_f64[OX_F32](part, 0, (size_t)m, &acc->f);
  }
}

/* Extremes down columns in one go and in their own type: they are exact, so nothing need move to a wider one. */
static bool folds_extremes(const ox_fold_job *j, ox_fold f) {
  const ox_fold_plan *p = j->plan;
  bool flat = p->n_folded == 1 && (p->kept[0] >= OX_FOLD_LANES || p->folded_stride[0] == p->kept[0]);
  return (f == OX_FOLD_MAX || f == OX_FOLD_MIN) && j->dtype != OX_F16 && j->dtype != OX_BF16 && flat;
}

static void better_of(const ox_fold_job *j, ox_fold f, void *best, const void *x, int64_t n, int64_t rows,
                      int64_t pitch) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  if (j->dtype == OX_F32)
    t->column[f](best, x, (size_t)n, NULL, (size_t)rows, (size_t)pitch);
  else
    (f == OX_FOLD_MAX ? t->column_max : t->column_min)[j->dtype](best, x, (size_t)n, (size_t)rows, (size_t)pitch);
}

static void fold_extremes(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          ox_fold_acc *acc) {
  const ox_convert *cv = ox_convert_select(j->isa);
  const ox_fold_plan *p = j->plan;
  int64_t row = p->kept[0], step = p->folded_stride[0], rows = end - begin, size = (int64_t)size_of(j->dtype);
  double best[BLOCK]; /* room for any type */
  while (n > 0) {
    int64_t m = OX_MIN(n, row - out % row), group = 1;
    if (m == row && step == row) group = OX_MAX(OX_MIN(WIDE / row, rows), 1); /* some narrow rows count as a wide one */
    const char *x = (const char *)j->data + (base_of(p, out) + begin * step) * size;
    int64_t whole = rows / group, rest = rows % group;
    memcpy(best, x, (size_t)(m * group * size));
    better_of(j, f, best, x + step * group * size, m * group, whole - 1, step * group);
    if (rest) better_of(j, f, best, x + whole * group * step * size, m * rest, 1, 0);
    for (int64_t half; group > 1; group -= half) {
      half = group / 2;
      better_of(j, f, best, (char *)best + (group - half) * m * size, m * half, 1, 0);
    }
    if (is_float(j->dtype))
      cv->load_f64[j->dtype](best, 0, (size_t)m, &acc->f);
    else
      cv->load_i64[j->dtype](best, 0, (size_t)m, &acc->i);
    out += m, n -= m, acc += m;
  }
}

void ox_fold_columns(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                     const double *shift, ox_fold_acc *acc) {
  const ox_fold_plan *p = j->plan;
  if (folds_lanes(j, f, out, n)) {
    fold_lanes(j, out, n, begin, end, acc);
    return;
  }
  if (folds_few(j, f, end - begin)) {
    fold_few(j, f, out, n, begin, end, acc);
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
