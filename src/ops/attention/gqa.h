/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/gqa.h - shared by the two halves of com.microsoft.GroupQueryAttention: the operator determines
 * sizes, lengths and outputs (ops/group_query_attention.c), gqa_cache.c appends new rows to the cache. */
#ifndef OX_OPS_ATTENTION_GQA_H
#define OX_OPS_ATTENTION_GQA_H

#include "ops/attention/attn_common.h"

typedef struct gqa_attrs {
  int64_t num_heads, kv_num_heads, do_rotary, rotary_interleaved, local_window_size, smooth_softmax, qk_output, causal;
  int64_t sliding_window_cache, kv_cache_bit_width;
  float scale, softcap, qk_norm_epsilon;
} gqa_attrs;

enum { Q, K, V, PAST_K, PAST_V, LENS, TOTAL, COS, SIN, POS, ADD, SINK, K_SCALE, V_SCALE, Q_NORM, K_NORM, N_IN };
enum { OUT, PRESENT_K, PRESENT_V, QK };

/* Sizes, -1 where not known. */
typedef struct gqa_sizes {
  int64_t batch, heads, kv_heads, q_len, d;
  int64_t past, width; /* rows that the past buffers have; elements of one: half as many bytes if it has 4 bits */
  bool packed;
} gqa_sizes;

typedef struct gqa_prep {
  gqa_sizes s;
  uint32_t cache;       /* element type of past and present */
  bool quantized;       /* which is not the query's: integers have scales (K_SCALE, V_SCALE) */
  bool staged;          /* attention reads a copy of the rows: they are quantized, or leave the cache */
  bool transformed;     /* queries and keys are normalized or rotated */
  int64_t half, angles; /* rotary */
  bool few;             /* one tile per head of k does everything */
  bool spread;          /* the last stage writes qk, of the rows that are in the cache, at the positions of all keys */
  ox_attn a;            /* kv_len and what depends on it are set in the run */
  size_t lens_at, sink_at, q_at; /* in shared memory, behind gqa_run */
} gqa_prep;

/* Set by the first stage of a run. */
typedef struct gqa_run {
  bool prompt;         /* there are no tokens before the new ones */
  int64_t total, rows; /* keys in all; rows that attention sees */
  int64_t present;     /* rows of the present buffers */
  void *present_k, *present_v, *qk;
  void *seen_qk; /* qk of the rows that attention reads; NULL: these are all rows, and it is output |qk| itself */
  void *staged_k, *staged_v; /* [batch, kv_heads, rows, d]: float if quantized, else of the query's type */
  void *bias;       /* the columns of input ADD for the rows that are in the cache: [batch, heads, q_len, rows] */
  char *spare;      /* gqa_spare_bytes for each head of k of each batch item */
  char *qk_scratch; /* a tile's scratch grows with the keys if qk is wanted */
  size_t qk_scratch_bytes;
} gqa_run;

/* Rows of one batch item. Without sliding_window_cache |kept| equals |first|, and all rows stay, even those of a
 * shorter prompt that no query reads. */
typedef struct gqa_lens {
  int32_t first;       /* position of the first new token */
  int32_t kept, fresh; /* rows of the past, new rows */
  int32_t stays;       /* rows of the present: the last ones of both */
} gqa_lens;

static inline gqa_lens *gqa_lens_of(const ox_kernel_ctx *c) {
  return (gqa_lens *)((char *)c->shared + ((const gqa_prep *)c->prep)->lens_at);
}

size_t gqa_spare_bytes(const gqa_prep *p);
/* Is the cache of a floating-point type, which has no scales? */
static inline bool gqa_is_real(uint32_t cache) { return OX_BIT(cache) & (OX_BIT(OX_F32) | OX_T_FLOAT16S); }
/* The cache's bytes of one row of |d| elements. */
static inline int64_t gqa_width(uint32_t cache, int64_t d) { return cache == OX_U8 && d >= 0 ? (d + 1) / 2 : d; }

/* Appends head |hk| of batch item |b| to the cache, and normalizes and rotates the query heads that share it. |a|: what
 * attention reads. */
OX_NODISCARD ox_status *gqa_append(const ox_kernel_ctx *c, const ox_attn *a, int64_t b, int64_t hk);

#endif
