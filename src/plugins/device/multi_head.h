/* SPDX-License-Identifier: Apache-2.0
 * device/multi_head.h - attention as in com.microsoft's MultiHeadAttention and Attention: heads in any layout, biases,
 * integer masks, a key/value cache. */
#ifndef OX_DEVICE_MULTI_HEAD_H
#define OX_DEVICE_MULTI_HEAD_H

#include "plugins/device/sdpa.h"

typedef struct dev_multi_head {
  int64_t batch, heads, q_len, kv_len, past, d, dv;
  uint32_t dtype;
  dev_heads q_at, k_at, v_at;
  dev_ref q, k, v, past_k, past_v, present_k, present_v, out; /* NONE: there is none */
  dev_ref bias;        /* concatenated for Q, K and V: heads * d, heads * d, heads * dv */
  bool kv_bias;        /* it applies to K and V, too */
  uint32_t mask, add;  /* values, or UINT32_MAX */
  float scale, filter; /* scale: 0 is the default; filter: the number added to scores of masked keys */
  bool causal;
} dev_multi_head;

/* For takes: NULL if the integer mask and the added bias at these inputs are supported. */
const char *dev_multi_head_masks(const dev_node *n, size_t mask, size_t add);
OX_NODISCARD ox_status *dev_emit_multi_head(dev_plan *p, const dev_multi_head *m);

#endif
