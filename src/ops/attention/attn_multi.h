/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/attn_multi.h - multi-head attention for several operators of com.microsoft: q, k and v in any
 * layout, a bias for each, integer masks, a cache. Two stages: the first prepares the inputs (adds biases, appends
 * to the cache, converts masks to numbers to add), the second computes the tiles of attention. */
#ifndef OX_OPS_ATTENTION_ATTN_MULTI_H
#define OX_OPS_ATTENTION_ATTN_MULTI_H

#include "ops/attention/attn_common.h"

typedef enum attn_mask_form { MASK_NONE, MASK_LENGTHS, MASK_KEYS, MASK_ROWS, MASK_SQUARE } attn_mask_form;

typedef struct attn_multi {
  /* the operator fills these in; pointers stay NULL until run */
  int64_t batch, heads, q_len, kv_len, past, d, dv;
  uint32_t dtype;
  ox_attn_mat q, k, v, past_k, past_v; /* past_*: [batch, heads, past, .] within their tensors */
  ox_attn_mat out, present_k, present_v;
  bool q_bias, kv_bias;  /* rows of |bias|: heads * d, heads * d, heads * dv */
  bool wants_k, wants_v; /* the present outputs exist */
  float scale, filter;   /* 0: the default; what masked keys get added */
  bool causal;
  const ox_tensor *mask; /* I32; shape only */
  const ox_tensor *add;  /* attention bias; shape only */
  ox_attn_qk qk_mode;
  int64_t
      rows; /* of the past and present buffers, which may have room for more rows than they hold; 0: no such buffers */
  int64_t beam, beam_len; /* 0: none. io.beams tells for each item which item of its |beam| a past row comes from */
  /* attn_multi_plan fills in the rest */
  int64_t total;
  attn_mask_form form;
  int64_t mask_dim; /* keys in a row of the mask, or lists of lengths */
  bool copies_q, copies_k, copies_v;
  size_t q_at, k_at, v_at, mask_at; /* in shared memory */
  size_t beam_k_at, beam_v_at;      /* rows in the order of the beams */
  uint32_t stage;                   /* of the preparation; attention follows */
  ox_attn a;
} attn_multi;

/* Pointers of one run. */
typedef struct attn_multi_io {
  const void *q, *k, *v, *past_k, *past_v, *bias, *add;
  const int32_t *mask, *beams; /* beams: [batch, beam_len], below |beam| */
  void *out, *present_k, *present_v, *qk;
} attn_multi_io;

/* Books stages |stage| and |stage| + 1 behind |shared| bytes of shared memory in use. */
OX_NODISCARD ox_status *attn_multi_plan(ox_kernel_ctx *c, attn_multi *m, uint32_t stage, size_t shared);
/* Runs tiles of either stage. */
void attn_multi_run(const ox_kernel_ctx *c, const attn_multi *m, const attn_multi_io *io, uint32_t stage,
                    ox_range tiles, void *scratch);

#endif
