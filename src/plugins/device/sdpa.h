/* SPDX-License-Identifier: Apache-2.0
 * device/sdpa.h - softmax(scale q k' + bias) v as launches, for the operators that are that. */
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

/* |p|: without per, wide, splits, strides and NONE as kinds of the biases that are not there. */
typedef struct dev_attention {
  attention_params p;
  uint32_t dtype;
  dev_heads q_at, k_at, v_at, out_at;
  dev_ref q, k, v, out, bias[2], lens, sink;
} dev_attention;

/* A bias of (batch, heads, rows, keys) that value |v| is: dimensions of 1 are broadcast, and so are missing ones. */
OX_NODISCARD ox_status *dev_attention_bias(dev_plan *p, dev_attention *a, int which, uint32_t v);
/* For takes: what dev_attention_bias has. */
bool dev_attention_takes_bias(const dev_node *n, size_t in);
/* 1 / sqrt(d), as scale if it is 0. */
float dev_attention_scale(float given, int64_t d);
/* Rows of a cache and new ones, to [batch, heads, rows, width] at |to|. |p|: without n and the strides, |in|. */
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
