/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/as_real.h - for operators that compute in float or double whatever their types: the tiles of a first stage
 * convert whole inputs into shared memory. */
#ifndef OX_OPS_SHARED_AS_REAL_H
#define OX_OPS_SHARED_AS_REAL_H

#include "base/cksize.h"
#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/quant/convert.h"

enum { OX_AS_REAL_BLOCK = 8192 };
typedef enum ox_as_real { OX_AS_FLOAT = 4, OX_AS_DOUBLE = 8 } ox_as_real; /* bytes of an element */

/* Books |count| elements of shared memory; |*at| is their offset. */
OX_NODISCARD static inline ox_status *ox_as_real_room(ox_kernel_ctx *c, ox_as_real as, int64_t count, size_t *at) {
  size_t bytes;
  *at = c->shared_bytes;
  if (count < 0 || !ox_mul_ok((size_t)count, (size_t)as, &bytes) ||
      !ox_add_ok(bytes, c->shared_bytes + 2 * OX_ALIGN_BYTES, &bytes))
    return ox_fail(OX_LIMIT, "the working memory is too large");
  c->shared_bytes = bytes / OX_ALIGN_BYTES * OX_ALIGN_BYTES;
  return NULL;
}

/* Books room for input |i| and adds the number of its tiles to |*tiles|. */
OX_NODISCARD static inline ox_status *ox_as_real_book(ox_kernel_ctx *c, ox_as_real as, uint32_t i, size_t *at,
                                                      int64_t *tiles) {
  int64_t n = ox_shape_count(&c->in[i]->shape);
  OX_TRY(ox_as_real_room(c, as, n, at));
  *tiles += OX_CEIL_DIV(n, OX_AS_REAL_BLOCK);
  return NULL;
}

static inline void *ox_as_real_at(const ox_kernel_ctx *c, size_t at) { return (char *)c->shared + at; }

/* Converts block |block| of the first |n| elements of |from|. */
static inline void ox_as_real_block(const ox_kernel_ctx *c, ox_as_real as, const ox_tensor *from, int64_t n,
                                    int64_t block, size_t at) {
  size_t first = (size_t)(block * OX_AS_REAL_BLOCK), count = OX_MIN((size_t)OX_AS_REAL_BLOCK, (size_t)n - first);
  const ox_convert *cv = ox_convert_select(c->isa);
  if (as == OX_AS_DOUBLE)
    cv->load_f64[from->dtype](from->data, first, count, (double *)ox_as_real_at(c, at) + first);
  else
    cv->load_f32[from->dtype](from->data, first, count, (float *)ox_as_real_at(c, at) + first);
}

/* Converts tile |t| of input |i|; false if the tile lies beyond it (*t then counts from its end). */
static inline bool ox_as_real_tile(const ox_kernel_ctx *c, ox_as_real as, uint32_t i, size_t at, int64_t *t) {
  int64_t n = ox_shape_count(&c->in[i]->shape), tiles = OX_CEIL_DIV(n, OX_AS_REAL_BLOCK);
  if (*t >= tiles) {
    *t -= tiles;
    return false;
  }
  ox_as_real_block(c, as, c->in[i], n, *t, at);
  return true;
}

/* ---- a row at a time ---- */

/* Elements [at, at + n) of input |i| as floats: in place, or converted into |spare|. */
static inline const float *ox_as_float_in(const ox_kernel_ctx *c, uint32_t i, int64_t at, int64_t n, float *spare) {
  const ox_tensor *t = c->in[i];
  if (t->dtype == OX_F32) return (const float *)t->data + at;
  ox_convert_select(c->isa)->load_f32[t->dtype](t->data, (size_t)at, (size_t)n, spare);
  return spare;
}

/* Where to compute output |i| from element |at| on: in place, or in |spare|, from which ox_as_float_done stores it. */
static inline float *ox_as_float_out(const ox_kernel_ctx *c, uint32_t i, int64_t at, float *spare) {
  return c->out[i]->dtype == OX_F32 ? (float *)c->out[i]->data + at : spare;
}
static inline void ox_as_float_done(const ox_kernel_ctx *c, uint32_t i, int64_t at, int64_t n, const float *y) {
  const ox_tensor *t = c->out[i];
  if (t->dtype != OX_F32) ox_convert_select(c->isa)->store_f32[t->dtype](y, t->data, (size_t)at, (size_t)n, NULL);
}

#endif
