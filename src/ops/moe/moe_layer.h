/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_layer.h - one linear layer of every expert, y = x W^T + bias, with weights of floats or of few bits. A
 * tile is a group of an expert's outputs for all of its tokens; how many those are, is only known in a run. */
#ifndef OX_OPS_MOE_LAYER_H
#define OX_OPS_MOE_LAYER_H

#include "kern/nbits/nbits.h"
#include "ops/matmul/product.h"

enum { OX_MOE_LAYERS = 3, OX_MOE_GROUP = 64 /* outputs of a tile: a multiple of all panels' columns */ };

/* Indices of a layer's inputs; OX_MOE_NO_INPUT: there is no such input. */
typedef struct ox_moe_slots {
  uint8_t w, scale, bias, zero;
} ox_moe_slots;
enum { OX_MOE_NO_INPUT = 255 };

/* What load finds out about the layers' weights. */
typedef struct ox_moe_state {
  ox_product_b *floats[OX_MOE_LAYERS]; /* constant floats; NULL: they are not, and are read where they lie */
  bool codes[OX_MOE_LAYERS];           /* constants of few bits that kern/nbits can multiply */
} ox_moe_state;

/* [experts, n, k]; floats may be [experts, k, n] */
typedef struct ox_moe_layer {
  ox_moe_slots in;
  int64_t experts, n, k, bits, block, blocks; /* bits 0: floats; block: k elements share a scale */
  bool turned;                                /* [experts, k, n] */
  bool blocked;                               /* the model gives a block size: zero points lie per row */
  /* set by ox_moe_layer_plan */
  const ox_gemm_variant *v;
  const void *const *panels; /* where a run finds the packed weights; NULL: they are read where they lie */
  size_t expert_bytes;       /* of |panels| */
  const ox_nbits_variant *few;
  ox_nbits_format f;
  size_t panel_bytes;
} ox_moe_layer;

/* The tokens of an expert: |m| rows of x with k floats and of y with n. */
typedef struct ox_moe_job {
  int64_t expert, m;
  const float *x;
  float *y;
} ox_moe_job;

/* Rows of x in the order of their experts. */
typedef struct ox_moe_order {
  int64_t *expert, *place; /* by row: its expert; its place in that order */
  int64_t *first, *busy;   /* by expert: the place of its first row, and one more; experts with rows, the rest -1 */
} ox_moe_order;
/* Sorts |rows| by o->expert; at most |most_busy| experts have any. */
void ox_moe_sort(const ox_moe_order *o, int64_t rows, int64_t experts, int64_t most_busy);

/* At load: whether layer |i|'s weights are packed; then the node consumes them. |turned|, |bits|, |block|: as in
 * ox_moe_layer; a block of 0: the whole row. */
OX_NODISCARD ox_status *ox_moe_load_floats(ox_load_ctx *c, ox_moe_state *s, int i, const ox_moe_slots *in, bool turned);
void ox_moe_load_codes(ox_load_ctx *c, ox_moe_state *s, int i, const ox_moe_slots *in, int64_t bits, int64_t block);

/* In prepare, with all sizes checked: arranges packing of layer |i|. |tokens|: the most that an expert can have. */
OX_NODISCARD ox_status *ox_moe_layer_plan(ox_kernel_ctx *c, ox_moe_layer *l, int i, int64_t tokens,
                                          size_t *out_scratch);
static inline int64_t ox_moe_groups(const ox_moe_layer *l) { return OX_CEIL_DIV(l->n, OX_MOE_GROUP); }
void ox_moe_layer_run(const ox_kernel_ctx *c, const ox_moe_layer *l, const ox_moe_job *job, int64_t group,
                      void *scratch);

#endif
