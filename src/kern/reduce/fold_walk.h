/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_walk.h - what the ways to fold share: types, where elements lie, and how accumulators are joined. */
#ifndef OX_KERN_REDUCE_FOLD_WALK_H
#define OX_KERN_REDUCE_FOLD_WALK_H

#include "base/macros.h"
#include "kern/reduce/fold.h"

static inline bool is_float(uint32_t dtype) {
  return dtype == OX_F32 || dtype == OX_F64 || dtype == OX_F16 || dtype == OX_BF16;
}
static inline size_t size_of(uint32_t dtype) {
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

static inline bool adds_up(ox_fold f) { return f != OX_FOLD_PROD && f != OX_FOLD_MAX && f != OX_FOLD_MIN; }

/* Combines n accumulators with |part|; sums, the usual case, in a loop without branches. */
static inline void join_floats(ox_fold f, ox_fold_acc *acc, const float *part, size_t n) {
  if (adds_up(f)) {
    for (size_t i = 0; i < n; i++) acc[i].f += (double)part[i];
  } else {
    for (size_t i = 0; i < n; i++) acc[i].f = join_f64(f, acc[i].f, (double)part[i]);
  }
}

/* Where output |o|'s elements begin. */
static inline int64_t base_of(const ox_fold_plan *p, int64_t o) {
  int64_t off = 0;
  for (int d = 0; d < p->n_kept; d++) off += o % p->kept[d] * p->kept_stride[d], o /= p->kept[d];
  return off;
}

/* Rows lie one behind the other. */
static inline bool lies_flat(const ox_fold_plan *p) {
  return p->n_folded == 1 && p->n_kept <= 1 && p->folded_stride[0] == 1;
}

/* A position among the folded elements, visited in row-major order, in runs along the innermost folded dimension. */
typedef struct {
  int64_t index[OX_MAX_RANK], off;
} walk;

static inline void walk_to(const ox_fold_plan *p, int64_t r, walk *w) {
  w->off = 0;
  for (int d = 0; d < p->n_folded; d++) {
    w->index[d] = r % p->folded[d], r /= p->folded[d];
    w->off += w->index[d] * p->folded_stride[d];
  }
}

static inline void walk_on(const ox_fold_plan *p, int64_t run, walk *w) {
  w->index[0] += run, w->off += run * p->folded_stride[0];
  for (int d = 0; d < p->n_folded && w->index[d] == p->folded[d]; d++) {
    w->off -= w->index[d] * p->folded_stride[d], w->index[d] = 0;
    if (d + 1 < p->n_folded) w->index[d + 1]++, w->off += p->folded_stride[d + 1];
  }
}

/* The ways, as ox_fold_run. Those that return bool serve some jobs only; false: another one, nothing is written. */
bool ox_fold_tiny(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                  ox_fold_acc *acc);
bool ox_fold_flat(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                  const double *shift, ox_fold_acc *acc);
void ox_fold_columns(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                     const double *shift, ox_fold_acc *acc);

#endif
