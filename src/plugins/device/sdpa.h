/* SPDX-License-Identifier: Apache-2.0
 * device/sdpa.h - scaled dot-product attention, softmax(scale q k' + bias) v, as launches. */
#ifndef OX_DEVICE_SDPA_H
#define OX_DEVICE_SDPA_H

#include "plugins/device/emit.h"
#include "plugins/device/kernels/append_params.h"
#include "plugins/device/kernels/attention_params.h"

/* Strides of [batch, heads, rows, width] within a tensor. */
typedef struct dev_heads {
  int batch, head, row;
} dev_heads;
dev_heads dev_heads_split(int64_t heads, int64_t rows, int64_t width); /* [batch, heads, rows, width] */
dev_heads dev_heads_flat(int64_t heads, int64_t rows, int64_t width);  /* [batch, rows, heads, width] */

/* The caller sets all of |p| but per, wide, splits and strides; kinds of absent biases are NONE. */
typedef struct dev_attention {
  attention_params p;
  uint32_t dtype;
  dev_heads q_at, k_at, v_at, out_at;
  dev_ref q, k, v, out, bias[2], lens, sink;
} dev_attention;

/* Sets bias |which| to value |v|, which is broadcast to (batch, heads, rows, keys). */
OX_NODISCARD ox_status *dev_attention_bias(dev_plan *p, dev_attention *a, int which, uint32_t v);
/* For takes: can dev_attention_bias handle input |in|? */
bool dev_attention_takes_bias(const dev_node *n, size_t in);
/* |given|, or the default 1 / sqrt(d) if that is 0. */
float dev_attention_scale(float given, int64_t d);
/* Appends new rows to those of a cache, into [batch, heads, rows, width] at |to|. The caller sets all of |p| but n and
 * the strides, which follow from |in|. */
typedef struct dev_append {
  append_params p;
  int64_t batch;
  uint32_t dtype;
  dev_heads in;
  dev_ref fresh, past, to, cosines, sines, lens, positions, bias;
} dev_append;
OX_NODISCARD ox_status *dev_emit_append(dev_plan *p, dev_append *a);

OX_NODISCARD ox_status *dev_emit_attention(dev_plan *p, dev_attention *a);

#endif
