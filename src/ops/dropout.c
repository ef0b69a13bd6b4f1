/* SPDX-License-Identifier: Apache-2.0
 * ops/dropout.c - Dropout: the identity in inference; in training mode (from version 12) a random mask and scaling.
 * Also EyeLike, which generates its output, too. */
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "ops/shared/random.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t seed;
  bool has_seed;
} dropout_attrs;

static const ox_attr_def dropout_table[] = {OX_ATTR_INT_HAS(dropout_attrs, seed, 0)};

/* The mask has the data's type before version 10, then bool. */
static ox_status *infer_old(ox_infer_ctx *c) {
  ox_infer_out(c, 1, c->in[0]->dtype, &c->in[0]->shape);
  return ox_infer_same_as_input(c);
}
static ox_status *infer(ox_infer_ctx *c) {
  ox_infer_out(c, 1, OX_BOOL, &c->in[0]->shape);
  return ox_infer_same_as_input(c);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  for (uint32_t i = 1; i < 3; i++)
    if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s must be a scalar", i == 1 ? "ratio" : "training_mode");
  int64_t tiles = ox_tile_count(ox_shape_count(&c->in[0]->shape), OX_TILE_MATH);
  c->n_stages = 2;
  c->n_tiles[0] = 1, c->n_tiles[1] = tiles;
  c->shared_bytes = sizeof(uint64_t);
  return NULL;
}

static double ratio_now(const ox_kernel_ctx *c) {
  double ratio = 0.5;
  if (!ox_ctx_has(c, 2) || !*(const uint8_t *)c->in[2]->data) return 0;
  if (ox_ctx_has(c, 1)) ox_convert_select(c->isa)->load_f64[c->in[1]->dtype](c->in[1]->data, 0, 1, &ratio);
  return ratio;
}

static void drop(const ox_kernel_ctx *c, int64_t begin, int64_t end, double ratio) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint64_t key = *(const uint64_t *)c->shared;
  uint32_t t = c->in[0]->dtype;
  double block[OX_CONVERT_BLOCK];
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    cv->load_f64[t](c->in[0]->data, (size_t)i, n, block);
    for (size_t k = 0; k < n; k++) {
      bool keep = ox_random_uniform(key, (uint64_t)i + k) >= ratio;
      block[k] = keep ? block[k] / (1 - ratio) : 0;
      if (ox_ctx_wants(c, 1)) ((uint8_t *)c->out[1]->data)[i + (int64_t)k] = keep;
    }
    if (ox_ctx_wants(c, 0)) cv->store_f64[t](block, c->out[0]->data, (size_t)i, n, &(ox_narrow_how){true, 0});
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const dropout_attrs *a = c->attrs;
  const ox_tensor *x = c->in[0];
  size_t size = ox_dtype_bits(x->dtype) / 8;
  if (stage == 0) {
    *(uint64_t *)c->shared = a && a->has_seed ? (uint64_t)a->seed : ox_ctx_random_key(c);
    return NULL;
  }
  double ratio = ratio_now(c);
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&x->shape), &begin, &end);
  if (begin >= end) return NULL;
  if (ratio != 0) {
    drop(c, begin, end, ratio);
    return NULL;
  }
  size_t n = (size_t)(end - begin);
  if (ox_ctx_wants(c, 0) && c->out[0]->data != x->data)
    memcpy((char *)c->out[0]->data + (size_t)begin * size, (const char *)x->data + (size_t)begin * size, n * size);
  if (ox_ctx_wants(c, 1)) {
    double one = 1;
    const ox_convert *cv = ox_convert_select(c->isa);
    for (size_t i = 0; i < n; i++)
      cv->store_f64[c->out[1]->dtype](&one, c->out[1]->data, (size_t)begin + i, 1, &(ox_narrow_how){true, 0});
  }
  return NULL;
}

/* ---- EyeLike ---- */
typedef struct {
  int64_t dtype, k;
} eye_attrs;

static const ox_attr_def eye_table[] = {OX_ATTR_INT(eye_attrs, dtype, 0), OX_ATTR_INT(eye_attrs, k, 0)};
enum { T_EYE = OX_T_NUMBER | OX_BIT(OX_BOOL) };

static ox_status *infer_eye(ox_infer_ctx *c) {
  const eye_attrs *a = c->attrs;
  int rank = c->in[0]->shape.rank;
  if (a->dtype < 0 || a->dtype >= OX_DTYPE_COUNT || (a->dtype && !(OX_BIT(a->dtype) & T_EYE)))
    return ox_fail(OX_INVALID_MODEL, "attribute 'dtype': %lld is no type for EyeLike", (long long)a->dtype);
  if (rank >= 0 && rank != 2) return ox_fail(OX_INVALID_MODEL, "wanted 2 dimensions, got %d", rank);
  ox_infer_out(c, 0, a->dtype ? (uint32_t)a->dtype : c->in[0]->dtype, &c->in[0]->shape);
  return NULL;
}

static ox_status *run_eye(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const eye_attrs *a = c->attrs;
  const ox_tensor *y = c->out[0];
  int64_t rows = y->shape.dim[0], columns = y->shape.dim[1], one = 1;
  if (y->bytes) memset(y->data, 0, y->bytes);
  for (int64_t i = 0; i < rows; i++) {
    int64_t j;
    if (ox_add_i64_ok(i, a->k, &j) && j >= 0 && j < columns)
      ox_convert_select(c->isa)->store_i64[y->dtype](&one, y->data, (size_t)(i * columns + j), 1, NULL);
  }
  return NULL;
}

enum { T_DROP = OX_T_FLOAT | (OX_T_FLOAT8 & ~OX_BIT(OX_F8E8M0)) };
#define DROPOUT(ver, most, infer_fn, ...)                                                               \
  {                                                                                                     \
    OX_SCHEMA(.name = "Dropout", .since = ver, .types = {T_DROP, T_DROP, OX_BIT(OX_BOOL)}, .min_in = 1, \
              .max_in = most, .min_out = 1, .max_out = 2, .infer = infer_fn, __VA_ARGS__),              \
        OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run)                                         \
  }

static const ox_op ops[] = {
    DROPOUT(1, 1, infer_old, .traits = 0),
    DROPOUT(10, 1, infer, .traits = 0),
    DROPOUT(12, 3, infer, .attrs_bytes = sizeof(dropout_attrs), OX_ATTRS(dropout_table), .traits = OX_NONDETERMINISTIC),
    {OX_SCHEMA(.name = "EyeLike", .since = 9, .types = {T_EYE}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(eye_attrs), OX_ATTRS(eye_table), .traits = OX_SHAPE_ONLY, .infer = infer_eye),
     OX_KERNEL(.run = run_eye)},
};
const ox_op_set ox_ops_dropout = {ops, OX_COUNT(ops)};
