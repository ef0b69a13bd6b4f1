/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_floats.h - many rows of floats by weights of few bits: a product of floats that gets its B from
 * panels of kern/nbits, a block at a time, so that each tile unpacks its weights to L2 once for all rows. */
#ifndef OX_OPS_MATMUL_NBITS_FLOATS_H
#define OX_OPS_MATMUL_NBITS_FLOATS_H

#include "base/cpu_kind.h"
#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/gemm/strassen.h"
#include "kern/nbits/nbits.h"
#include "kern/quant/convert.h"

typedef struct ox_nbits_floats {
  bool strassen; /* by |z|; else by |g| */
  ox_gemm_plan g;
  ox_strassen_plan z;
} ox_nbits_floats;

typedef struct ox_nbits_weights {
  const ox_nbits_variant *v;
  const ox_nbits_format *f;
  const uint8_t *panels;
  size_t panel_bytes, n; /* n: columns */
} ox_nbits_weights;

/* The tile of panel |panel|: its weights, columns, |bias| (any float type, or NULL) as floats in |room|, and c in
 * output 0 if that is of floats. */
static inline ox_nbits_tile ox_nbits_tile_of(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias,
                                             size_t panel, float room[16]) {
  const size_t col = panel * w->v->lanes;
  ox_nbits_tile t = {.f = *w->f, .w = w->panels + panel * w->panel_bytes, .m = 1};
  t.n = OX_MIN(w->v->lanes, w->n - col), t.streams = (ox_cpu_kind() & OX_SLOW_L3) != 0;
  if (c->out[0]->dtype == OX_F32) t.c = (float *)c->out[0]->data + col;
  if (bias) ox_convert_select(c->isa)->load_f32[bias->dtype](bias->data, col, t.n, room), t.bias = room;
  return t;
}

/* An ox_gemm_source of an ox_nbits_weights. */
void ox_nbits_write_floats(const void *weights, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld);
/* In prepare: plans [m, k] x [k, n] in the whole of the operator's two stages. */
OX_NODISCARD ox_status *ox_nbits_floats_plan(ox_kernel_ctx *c, ox_nbits_floats *p, size_t m, size_t n, size_t k);
/* Runs tiles of a stage. |bias|: n elements, or NULL. */
void ox_nbits_floats_run(const ox_kernel_ctx *c, const ox_nbits_floats *p, const ox_nbits_weights *w,
                         const ox_tensor *a, const ox_tensor *bias, uint32_t stage, ox_range tiles, void *scratch);

#endif
