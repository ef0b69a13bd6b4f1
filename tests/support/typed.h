/* SPDX-License-Identifier: Apache-2.0
 * support/typed.h - inputs of any floating-point type for naive oracles in double precision.
 *   const ox_tensor *x = typed_input(&n, OX_F16, 2, (int64_t[]){3, 4}, 1.0);
 *   CHECK_OK(one_node_run(&n));
 *   typed_near(&n.out[0], i, want, 1);    -> element i is |want|, as far as its type holds it */
#ifndef OX_TESTS_TYPED_H
#define OX_TESTS_TYPED_H

#include <math.h>
#include <stdlib.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

/* Element |i| as a number. */
static inline double typed_at(const ox_tensor *t, int64_t i) {
  double v;
  ox_convert_select(0)->load_f64[t->dtype](t->data, (size_t)i, 1, &v);
  return v;
}

/* Appends an input of made-up numbers in (-|scale|, |scale|); each input has others. */
static inline const ox_tensor *typed_input(one_node *n, uint32_t dtype, int rank, const int64_t *dims, double scale) {
  ox_shape s = ox_shape_of(rank, dims);
  size_t count = (size_t)ox_shape_count(&s);
  double *v = malloc((count + 1) * sizeof *v);
  void *data = malloc((count + 1) * sizeof *v);
  assert_true(v && data);
  for (size_t i = 0; i < count; i++) v[i] = scale * ((double)((i + 3 * n->n_in + 1) * 7919 % 997) / 498.5 - 1);
  ox_convert_select(0)->store_f64[dtype](v, data, 0, count, NULL);
  one_node_input(n, dtype, rank, dims, data);
  free(v), free(data);
  return &n->in[n->n_in - 1];
}

/* What a type can be wrong by, relatively: half a step, and as much again for arithmetic in float. */
static inline double typed_step(uint32_t dtype) {
  return dtype == OX_F64 ? 1e-14 : dtype == OX_F32 ? 1e-6 : dtype == OX_F16 ? 0x1p-10 : 0x1p-7;
}

/* Fails unless element |i| is |want| within |steps| of the type's steps, relative to |want| or, below 1, to 1. */
static inline void typed_near(const ox_tensor *t, int64_t i, double want, double steps) {
  double got = typed_at(t, i);
  if (!(fabs(got - want) <= steps * typed_step(t->dtype) * fmax(fabs(want), 1)))
    fail_msg("%s element %lld: got %.9g, wanted %.9g", ox_dtype_name(t->dtype), (long long)i, got, want);
}

#endif
