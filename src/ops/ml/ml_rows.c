/* SPDX-License-Identifier: Apache-2.0
 * ops/ml/ml_rows.c - see ml_rows.h. */
#include "ops/ml/ml_rows.h"

#include "base/cksize.h"
#include "ops/ml/ml_trees.h"

enum { TILE_ROWS = 64 };

ox_status *ox_ml_rows_plan(ox_kernel_ctx *c, int64_t features, size_t per_row, size_t once) {
  ml_rows *p = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  c->prep = p;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &p->rows, &p->features));
  if (p->features != features)
    return ox_fail(OX_SHAPE_MISMATCH, "X has %lld features, the model %lld", (long long)p->features,
                   (long long)features);
  p->tile_rows = TILE_ROWS;
  if (c->in[0]->dtype != OX_F32)
    p->x_bytes = OX_ROUND_UP((size_t)(TILE_ROWS * features) * sizeof(float), OX_ALIGN_BYTES);
  if (!ox_mul_ok(per_row, TILE_ROWS, &bytes) || !ox_add_ok(bytes, p->x_bytes + once, &bytes))
    return ox_fail(OX_OUT_OF_MEMORY, "scores overflow");
  return ox_ctx_plan(c, OX_CEIL_DIV(p->rows, TILE_ROWS), bytes);
}

const float *ox_ml_rows_at(const ox_kernel_ctx *c, int64_t tile, void *scratch, int64_t *out_first, int64_t *out_n) {
  const ml_rows *p = c->prep;
  const ox_tensor *x = c->in[0];
  int64_t first = tile * p->tile_rows, n = OX_MIN(p->rows - first, p->tile_rows);
  *out_first = first, *out_n = n;
  if (!p->x_bytes) return (const float *)x->data + first * p->features;
  ox_ml_read_f32(x->dtype, x->data, first * p->features, n * p->features, scratch);
  return scratch;
}
