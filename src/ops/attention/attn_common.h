/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/attn_common.h - what the attention operators share: layouts, broadcast biases, the key/value cache. */
#ifndef OX_OPS_ATTENTION_ATTN_COMMON_H
#define OX_OPS_ATTENTION_ATTN_COMMON_H

#include "graph/op_def.h"
#include "kern/attention/attention.h"

/* [batch, heads, rows, width] and [batch, rows, heads, width], row-major. */
ox_attn_mat ox_attn_bnsh(const ox_tensor *t, int64_t heads, int64_t rows, int64_t width);
ox_attn_mat ox_attn_bsnh(const ox_tensor *t, int64_t heads, int64_t rows, int64_t width);

/* |t| as a bias of (batch, heads, rows, keys): dimensions of 1 broadcast, missing ones too; the last may be shorter.
 * Data is filled in by the caller in run. Error: SHAPE_MISMATCH. */
OX_NODISCARD ox_status *ox_attn_bias_of(const ox_tensor *t, const char *name, int64_t batch, int64_t heads,
                                        int64_t rows, int64_t keys, ox_attn_bias *out);

/* Rows [0, n_past) of |to| from |past|, unless they lie there, then |n_fresh| rows from |fresh|, for head |h| of batch
 * item |b|. */
typedef struct attn_append {
  ox_attn_mat past, fresh, to;
  int64_t n_past, n_fresh, width;
} attn_append;
void ox_attn_append(const attn_append *a, int64_t b, int64_t h);
/* Heads of |m|, [batch, heads, rows, width], lie |rows| rows apart. */
static inline void ox_attn_spread(ox_attn_mat *m, int64_t heads, int64_t rows) {
  m->head = rows * m->row, m->batch = heads * m->head;
}

/* Floating-point operations of both products; masks do not count. */
static inline double ox_attn_flops(const ox_attn *a) {
  return 2.0 * (double)(a->batch * a->heads) * (double)a->q_len * (double)a->kv_len * (double)(a->d + a->dv);
}
/* Books |stage| for the tiles of |a| and grows the scratch as needed. */
void ox_attn_book(ox_kernel_ctx *c, uint32_t stage, const ox_attn *a);
/* Is each head of k and v read by one tile only? Tile t then reads head t % kv_heads of batch item t / kv_heads. */
bool ox_attn_tile_is_head(const ox_kernel_ctx *c, const ox_attn *a);
void ox_attn_run_tiles(const ox_kernel_ctx *c, const ox_attn *a, ox_range tiles, void *scratch);

static inline size_t ox_attn_item(uint32_t dtype) { return ox_dtype_bits(dtype) / 8; }

#endif
