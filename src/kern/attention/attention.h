/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention.h - softmax(scale q k' + bias) v, one tile at a time: some of the query rows that share a
 * head of k and v in a batch item. Scores exist for one block of keys at a time (online softmax). */
#ifndef OX_KERN_ATTENTION_ATTENTION_H
#define OX_KERN_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/macros.h"
#include "onyx/ep.h"

/* A matrix per (batch, head): element (b, h, s, i) is p[b * batch + h * head + s * row + i]. */
typedef struct ox_attn_mat {
  void *p;
  uint32_t dtype; /* F32, F16, BF16; or F64 for all tensors */
  int64_t batch, head, row;
} ox_attn_mat;

/* A bias added to the scores; of type BOOL, a mask: false masks the key out. Indexed by (b, h, s, t); a stride of 0
 * broadcasts. Keys from |n| on are masked out. */
typedef struct ox_attn_bias {
  const void *p;  /* NULL: none */
  uint32_t dtype; /* BOOL, or F32, F16, BF16; with F64 tensors F32, F64 */
  int64_t batch, head, row, key, n;
  int64_t period; /* item b reads what belongs to b % period; 0: to b */
} ox_attn_bias;

typedef enum ox_attn_qk {
  OX_ATTN_QK_NONE = -1,
  OX_ATTN_QK_RAW,
  OX_ATTN_QK_CAPPED,
  OX_ATTN_QK_BIASED,
  OX_ATTN_QK_SOFTMAX
} ox_attn_qk;

/* Query row s of batch item b sees key t if t < kv_lens[b], t <= s + offset + right and t >= s + offset - left. A row
 * that sees no key, or only keys with a bias of -inf, gives zeros; with nan_to_zero, so does one whose weights are NaN
 * since a score is NaN or inf. */
typedef struct ox_attn {
  int64_t batch, heads, kv_heads, q_len, kv_len, d, dv;
  ox_attn_mat q, k, v, out; /* k, v: head is that of kv_heads */
  ox_attn_bias bias[2];
  double scale;
  float softcap;                    /* 0: none */
  int64_t left, right;              /* -1: no bound; causal: right = 0 */
  int64_t offset;                   /* position of query row 0 among the keys */
  const int32_t *kv_lens, *offsets; /* per batch item; NULL: kv_len, offset for all */
  const float *sink;                /* per head: a logit that counts only in the sum of the softmax; NULL: none */
  void *qk;                         /* [batch, heads, q_len, kv_len] of q's type; OX_ATTN_QK_NONE: not written */
  ox_attn_qk qk_mode;
  bool nan_to_zero;   /* of out; qk is written as it is */
  float qk_forbidden; /* QK_BIASED: the number written for a score of -inf */
} ox_attn;

typedef struct ox_attn_variant {
  ox_isa needs;
  int lanes; /* query rows per group */
  const char *name;
  void (*run)(const ox_attn *a, int64_t tile, void *scratch);
} ox_attn_variant;

/* The best variant for |have|; F64 tensors have one of their own. */
const ox_attn_variant *ox_attn_select(uint32_t dtype, ox_isa have);
/* The number of tiles, and scratch bytes per worker; they depend only on sizes, types and qk_mode. */
int64_t ox_attn_tiles(const ox_attn *a, const ox_attn_variant *v);
size_t ox_attn_scratch(const ox_attn *a, const ox_attn_variant *v);

/* ---- for the variants ---- */
/* Up to FEW rows are processed one by one; else a tile has up to GROUPS groups of rows. A block has KEYS keys. */
enum { OX_ATTN_FEW = 8, OX_ATTN_GROUPS = 8, OX_ATTN_KEYS = 128 };
static inline bool ox_attn_is_few(const ox_attn *a) { return a->heads / a->kv_heads * a->q_len <= OX_ATTN_FEW; }
/* The groups of a tile share each block of k and v, which long sequences bring from beyond L2: as many as leave enough
 * tiles for all threads and their q and sums in L2. */
static inline int64_t ox_attn_groups(const ox_attn *a, int lanes) {
  enum { LEAST = 2, TILES = 32, BYTES = 256 << 10 };
  int64_t heads = a->batch * a->kv_heads, of_head = OX_CEIL_DIV(a->heads / a->kv_heads * a->q_len, (int64_t)lanes);
  int64_t bytes = lanes * (a->d + a->dv + 32) * (int64_t)sizeof(float);
  int64_t most = OX_MIN(OX_MIN(heads * of_head / TILES, BYTES / bytes), OX_ATTN_GROUPS);
  if (most <= LEAST || of_head <= LEAST) return LEAST;
  return OX_MAX(OX_CEIL_DIV(of_head, OX_CEIL_DIV(of_head, most)), LEAST); /* evenly */
}
static inline int64_t ox_attn_tile_rows(const ox_attn *a, int lanes) {
  return ox_attn_is_few(a) ? a->heads / a->kv_heads * a->q_len : lanes * ox_attn_groups(a, lanes);
}
/* Blocks of k or v are copied if they must be converted to float. */
static inline bool ox_attn_copies(const ox_attn_mat *m) { return m->dtype != OX_F32; }
static inline int64_t ox_attn_block_keys(const ox_attn *a) {
  return a->qk_mode == OX_ATTN_QK_NONE && a->kv_len > OX_ATTN_KEYS ? OX_ATTN_KEYS : a->kv_len;
}

#define OX_ATTN(needs, lanes, symbol) void symbol(const ox_attn *a, int64_t tile, void *scratch);
#include "kern/attention/attention_variants.inc"
#undef OX_ATTN
void ox_attn_f64(const ox_attn *a, int64_t tile, void *scratch);

#endif
