/* SPDX-License-Identifier: Apache-2.0
 * ops/padding.c - com.microsoft's RemovePadding and RestorePadding: sequences of different lengths, padded on the
 * right, to rows without padding and back. token_offset has the original position of row i; those of the padding
 * follow the tokens' there. */
#include <string.h>

#include "ops/move/deferred.h"
#include "ops/shared/check.h"

enum { OUT, OFFSET, CUMULATED, MOST };

static ox_status *remove_infer(ox_infer_ctx *c) {
  OX_TRY(ox_infer_shape_is(c, 0, 3, (int64_t[]){-1, -1, -1}));
  int64_t batch = ox_infer_dim(c, 0, 0), length = ox_infer_dim(c, 0, 1);
  OX_TRY(ox_infer_shape_is(c, 1, 1, &batch));
  if (batch < 0) batch = ox_infer_dim(c, 1, 0);
  ox_shape rows = ox_shape_of(2, (int64_t[]){-1, ox_infer_dim(c, 0, 2)});
  ox_shape offset = ox_shape_of(2, (int64_t[]){batch, length}),
           sums = ox_shape_of(1, (int64_t[]){batch < 0 ? -1 : batch + 1});
  ox_shape one = ox_shape_of(1, (int64_t[]){1});
  ox_infer_out(c, OUT, c->in[0]->dtype, &rows);
  ox_infer_out(c, OFFSET, OX_I32, &offset);
  ox_infer_out(c, CUMULATED, OX_I32, &sums);
  ox_infer_out(c, MOST, OX_I32, &one);
  return NULL;
}

/* Tokens in all, and those of the longest sequence. */
static ox_status *count_tokens(const ox_kernel_ctx *c, int64_t *all, int32_t *most) {
  const int32_t *counts = c->in[1]->data;
  int64_t batch = c->in[0]->shape.dim[0], length = c->in[0]->shape.dim[1];
  *all = 0, *most = 0;
  for (int64_t b = 0; b < batch; b++) {
    if (counts[b] < 0 || counts[b] > length)
      return ox_fail(OX_INVALID_ARGUMENT, "RemovePadding: sequence %lld has %d tokens of %lld", (long long)b, counts[b],
                     (long long)length);
    *all += counts[b], *most = OX_MAX(*most, counts[b]);
  }
  return NULL;
}

static ox_status *remove_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_shape *s = &c->in[0]->shape;
  const int32_t *counts = c->in[1]->data;
  int64_t batch = s->dim[0], length = s->dim[1], all;
  size_t bytes = (size_t)s->dim[2] * (ox_dtype_bits(c->in[0]->dtype) / 8);
  int32_t most, *offset = ox_ctx_wants(c, OFFSET) ? c->out[OFFSET]->data : NULL;
  int32_t *sums = ox_ctx_wants(c, CUMULATED) ? c->out[CUMULATED]->data : NULL;
  void *out = NULL;
  OX_TRY(count_tokens(c, &all, &most));
  ox_shape shape = ox_shape_of(2, (int64_t[]){all, s->dim[2]});
  if (ox_ctx_wants(c, OUT)) OX_TRY(ox_output_at_run(c, OUT, &shape, &out));
  int64_t token = 0, padding = all;
  for (int64_t b = 0; b < batch; b++) {
    if (sums) sums[b] = (int32_t)token;
    if (out && bytes)
      memcpy((char *)out + (size_t)token * bytes, (const char *)c->in[0]->data + (size_t)(b * length) * bytes,
             (size_t)counts[b] * bytes);
    for (int64_t i = 0; i < length; i++) {
      int64_t *at = i < counts[b] ? &token : &padding;
      if (offset) offset[*at] = (int32_t)(b * length + i);
      ++*at;
    }
  }
  if (sums) sums[batch] = (int32_t)all;
  if (ox_ctx_wants(c, MOST)) *(int32_t *)c->out[MOST]->data = most;
  return NULL;
}

/* ---- back ---- */

static ox_status *restore_infer(ox_infer_ctx *c) {
  OX_TRY(ox_infer_shape_is(c, 0, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, 1, 2, (int64_t[]){-1, -1}));
  ox_shape s = ox_shape_of(3, (int64_t[]){ox_infer_dim(c, 1, 0), ox_infer_dim(c, 1, 1), ox_infer_dim(c, 0, 1)});
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *restore_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  int64_t tokens = c->in[0]->shape.dim[0], places = ox_shape_count(&c->in[1]->shape);
  size_t bytes = (size_t)c->in[0]->shape.dim[1] * (ox_dtype_bits(c->in[0]->dtype) / 8);
  if (tokens > places)
    return ox_fail(OX_SHAPE_MISMATCH, "RestorePadding: %lld tokens for %lld places", (long long)tokens,
                   (long long)places);
  if (c->out[0]->bytes) memset(c->out[0]->data, 0, c->out[0]->bytes);
  for (int64_t i = 0; i < tokens; i++) {
    int64_t at = ((const int32_t *)c->in[1]->data)[i];
    if (at < 0 || at >= places)
      return ox_fail(OX_INVALID_ARGUMENT, "RestorePadding: token %lld has offset %lld of %lld", (long long)i,
                     (long long)at, (long long)places);
    if (bytes)
      memcpy((char *)c->out[0]->data + (size_t)at * bytes, (const char *)c->in[0]->data + (size_t)i * bytes, bytes);
  }
  return NULL;
}

enum { FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F16) };
#define ROW(op) \
  .name = op, .domain = "com.microsoft", .since = 1, .types = {FLOATS, OX_BIT(OX_I32)}, .min_in = 2, .max_in = 2
static const ox_op ops[] = {
    {OX_SCHEMA(ROW("RemovePadding"), .min_out = 4, .max_out = 4, .infer = remove_infer), OX_KERNEL(.run = remove_run)},
    {OX_SCHEMA(ROW("RestorePadding"), .infer = restore_infer), OX_KERNEL(.run = restore_run)},
};
const ox_op_set ox_ops_padding = {ops, OX_COUNT(ops)};
