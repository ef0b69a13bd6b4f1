/* SPDX-License-Identifier: Apache-2.0
 * device/ops/gather_nbits.c - com.microsoft's GatherBlockQuantized of integers. */
#include <limits.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/gather_nbits_params.h"

enum { DATA, INDEX, SCALE, ZERO };

static bool has_zero(const dev_node *n) { return dev_in_count(n) > ZERO && dev_in(n, ZERO) != UINT32_MAX; }

static int bits_of(const dev_node *n) { return dev_in_dtype(n, DATA) == OX_U8 ? (int)dev_attr_int(n, "bits", 4) : 4; }

static const char *takes(const dev_node *n) {
  uint32_t data = dev_in_dtype(n, DATA), index = dev_in_dtype(n, INDEX), scale = dev_in_dtype(n, SCALE);
  int bits = bits_of(n);
  if (data != OX_U8 && data != OX_U4 && data != OX_I4) return REASON("uint8, uint4 or int4", "{0}");
  if (bits != 2 && bits != 4 && bits != 8) return REASON("2, 4 or 8 bits", "{bits=4}");
  if (index != OX_I64 && index != OX_I32) return REASON("indices of int32 or int64", "{1}");
  if (scale != OX_F32 && scale != OX_F16) return REASON("scales of float32 or float16", "{2}");
  if (has_zero(n) && dev_in_dtype(n, ZERO) != data) return REASON("zero points of the data's type", "{0}, {3}");
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (dev_in(n, i) != UINT32_MAX && dev_in_rank(n, i) < 0) return REASON("known ranks", "{inputs}");
  return NULL;
}

/* Reads the sizes. Where the data type is bytes, each holds 8 / bits values along the last axis. */
static ox_status *read(dev_plan *p, const dev_node *n, gather_nbits_params *q) {
  ox_shape x = *dev_shape(p, dev_in(n, DATA));
  const ox_shape *s = dev_shape(p, dev_in(n, SCALE));
  int each = 8 / q->bits, last = x.rank - 1;
  int gather = dev_axis(dev_attr_int(n, "gather_axis", 0), x.rank);
  int axis = dev_axis(dev_attr_int(n, "quantize_axis", 1), x.rank);
  if (gather < 0 || axis < 0 || s->rank != x.rank) return dev_refuse(p, "there is no such axis");
  bool packed = dev_in_dtype(n, DATA) == OX_U8;
  if (packed) x.dim[last] *= each;
  int64_t block = dev_attr_int(n, "block_size", 128), values = dev_span(&x, 0, x.rank);
  if (values > INT_MAX) return dev_refuse(p, "a table of more than 2^31 - 1 values");
  for (int d = 0; d < x.rank; d++)
    if (block < 1 || s->dim[d] != (d == axis ? dev_groups(x.dim[d], block) : x.dim[d]))
      return dev_refuse(p, "scales that do not fit");
  q->axis = (int)x.dim[gather], q->inner = (int)dev_span(&x, gather + 1, x.rank);
  q->post = (int)dev_span(&x, axis + 1, x.rank), q->size = (int)x.dim[axis],
  q->block = (int)(block < INT_MAX ? block : INT_MAX);
  q->block_step = q->post, q->post_step = 1, q->pre_step = (int)(s->dim[axis] * q->post);
  q->scale_row = (int)s->dim[last], q->zero_row = q->scale_row;
  if (q->has_zero && packed) q->zero_row = (int)dev_groups(s->dim[last], each) * each;
  if (q->has_zero &&
      dev_count(p, dev_in(n, ZERO)) != dev_span(s, 0, last) * (packed ? dev_groups(s->dim[last], each) : s->dim[last]))
    return dev_refuse(p, "zero points that do not fit the scales");
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  gather_nbits_params q = {.n = (int)dev_count(p, dev_out(n, 0)),
                           .wide = dev_in_dtype(n, INDEX) == OX_I64,
                           .many = (int)dev_count(p, dev_in(n, INDEX)),
                           .bits = bits_of(n),
                           .is_signed = dev_in_dtype(n, DATA) == OX_I4,
                           .has_zero = has_zero(n)};
  q.zero = dev_in_dtype(n, DATA) == OX_U8 ? 1 << (q.bits - 1) : 0;
  if (q.n == 0) return NULL;
  DEV_TRY(read(p, n, &q));
  dev_call c = {
      .source = "gather_nbits",
      .kernel = "gather_nbits",
      .dtype = dev_in_dtype(n, SCALE),
      .n_buffers = 5,
      .written = 1u << 4,
      DEV_PARAMS(q),
      .buffers = {dev_value(p, dev_in(n, DATA)), dev_value(p, dev_in(n, INDEX)), dev_value(p, dev_in(n, SCALE)),
                  dev_value(p, has_zero(n) ? dev_in(n, ZERO) : UINT32_MAX), dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"GatherBlockQuantized", NULL};
DEV_OP(gather_nbits) = {"com.microsoft", names, takes, emit};
