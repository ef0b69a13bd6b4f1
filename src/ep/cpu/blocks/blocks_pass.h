/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_pass.h - which nodes compute on channels in blocks (docs/blocks.md). A row (ox_blocks_op) says
 * what an operator does with blocks; blocks_choose.c picks the nodes for which converting the data pays, blocks_edit.c
 * rewrites them. */
#ifndef OX_EP_CPU_BLOCKS_BLOCKS_PASS_H
#define OX_EP_CPU_BLOCKS_BLOCKS_PASS_H

#include <stdbool.h>

#include "base/macros.h"
#include "onyx/rewrite.h"

enum { OX_BLOCKS_LANES = 16, OX_BLOCKS_MAX_IN = 64 /* operands of a node */ };

typedef struct ox_blocks_op ox_blocks_op;

/* How a node would run on blocks. */
typedef struct ox_blocks_use {
  const ox_blocks_op *op; /* NULL: it cannot */
  uint64_t in;            /* bit i: input i has to be in blocks */
  uint64_t out;           /* bit i: output i is then in blocks */
  float gain;             /* ns that it saves, conversions not counted */
  bool wants;             /* it asks for blocks (a convolution); others only follow */
} ox_blocks_use;

/* An operator, or several that behave alike, as one row. */
struct ox_blocks_op {
  const char *ops;    /* alternatives by '|' */
  const char *domain; /* NULL: ai.onnx */
  /* Whether |node| can run on blocks; sets in, out, gain and wants, which are preset to 0. */
  bool (*can)(const ox_rewrite *g, ox_id node, ox_blocks_use *u);
  /* Makes |node| compute on blocks, except for the operands of |u->in| and the results of |u->out|, which are replaced
   * afterwards so that their shapes can still be read. NULL: nothing to do. */
  ox_status *(*edit)(const ox_rewrite *g, ox_id node, const ox_blocks_use *u);
};

/* Tables of rows: a NULL |ops| ends each. */
extern const ox_blocks_op ox_blocks_conv_ops[], ox_blocks_wise_ops[], ox_blocks_axis_ops[], ox_blocks_space_ops[],
    ox_blocks_norm_ops[], ox_blocks_concat_ops[];

/* ---- questions that rows ask ---- */

/* Channels of a float32 tensor of rank 3 to 5 that could be in blocks, or 0. One channel never pays. */
int64_t ox_blocks_channels(const ox_rewrite *g, ox_id v);
/* The number of elements of |v|, as it is or |in_blocks|; unknown dimensions count as a typical number. */
double ox_blocks_elements(const ox_rewrite *g, ox_id v, bool in_blocks);
/* The ns that the unused lanes of |v| cost an operator that reads it once. */
double ox_blocks_waste(const ox_rewrite *g, ox_id v);

/* ns for a float that is read and written once. */
#define OX_BLOCKS_NS 0.1

/* ---- edits ---- */

/* Adds |v| with an axis of length 1 inserted before |axis|. */
OX_NODISCARD ox_status *ox_blocks_unsqueeze(const ox_rewrite *g, ox_id v, int64_t axis, ox_id *out);
/* Adds |v| in blocks: a ToBlocks, or a view. */
OX_NODISCARD ox_status *ox_blocks_to(const ox_rewrite *g, ox_id v, ox_id *out);

/* ---- the pass ---- */

typedef struct ox_blocks_work {
  const ox_rewrite *g;
  uint32_t n_nodes, n_values, n_order;
  const ox_id *order;
  ox_blocks_use *use; /* by node; use[i].op NULL: stays as it is */
  ox_id *blocked;     /* by value: the same in blocks, or OX_NONE */
} ox_blocks_work;

OX_NODISCARD ox_status *ox_blocks_choose(ox_blocks_work *w, uint32_t *out_n);
OX_NODISCARD ox_status *ox_blocks_edit(ox_blocks_work *w);

/* Whether |channels| fill blocks that a Reshape can join to channels. */
bool ox_blocks_are_whole(const ox_rewrite *g, int64_t channels);
/* Whether |node| is a Transpose from channels last, in whole blocks, to channels first, or back, of any, so that blocks
 * can be moved instead (rules/blocks_last.c). */
bool ox_blocks_from_last(const ox_rewrite *g, ox_id node);
bool ox_blocks_to_last(const ox_rewrite *g, ox_id node);

#endif
