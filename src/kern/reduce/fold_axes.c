/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_axes.c - the loops over dimensions; the arithmetic is in reduce.h. Along contiguous folded runs
 * (rows), or over contiguous kept runs with an array of accumulators (fold_columns.c). */
#include "kern/quant/convert.h"
#include "kern/reduce/fold_walk.h"

enum { BLOCK = OX_FOLD_BATCH };

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

/* Short rows of floats, of which several in a row are a constant step apart. */
static bool folds_short(const ox_fold_job *j, ox_fold f) {
  enum { SOME = 4 };
  const ox_fold_plan *p = j->plan;
  return j->dtype == OX_F32 && f != OX_FOLD_EXP && f != OX_FOLD_PROD && !p->columns && p->n_folded > 0 &&
         p->folded[0] <= OX_FOLD_SHORT && p->n_kept > 0 && p->kept[0] >= SOME;
}

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

void ox_fold_run(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                 const double *shift, ox_fold_acc *acc) {
  if (begin >= end) {
    for (int64_t k = 0; k < n; k++) acc[k] = ox_fold_identity(f, j->dtype);
    return;
  }
  if (ox_fold_tiny(j, f, out, n, begin, end, acc)) return;
  if (folds_short(j, f))
    fold_short(j, f, out, n, begin, end, acc);
  else if (!ox_fold_flat(j, f, out, n, begin, end, shift, acc))
    (j->plan->columns ? ox_fold_columns : fold_rows)(j, f, out, n, begin, end, shift, acc);
}
