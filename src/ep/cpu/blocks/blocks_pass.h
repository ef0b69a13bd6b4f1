/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_pass.h - which nodes compute on channels in blocks (docs/blocks.md). What an operator makes of
 * blocks is a row (ox_blocks_op); blocks_choose.c picks the nodes for which turning data around pays, blocks_edit.c
 * rewrites them. */
#ifndef OX_EP_CPU_BLOCKS_BLOCKS_PASS_H
#define OX_EP_CPU_BLOCKS_BLOCKS_PASS_H

#include <stdbool.h>

#include "base/macros.h"
#include "onyx/rewrite.h"

enum { OX_BLOCKS_LANES = 16, OX_BLOCKS_MAX_IN = 64 /* operands of a node */ };

typedef struct ox_blocks_op ox_blocks_op;

/* What becomes of a node in blocks. */
typedef struct ox_blocks_use {
  const ox_blocks_op *op; /* NULL: the node cannot */
  uint64_t in;            /* bit i: input i has to be in blocks */
  uint64_t out;           /* bit i: output i is in blocks then */
  float gain;             /* ns that it saves, apart from turning data around */
  bool wants;             /* a convolution: others follow, but do not ask for blocks */
} ox_blocks_use;

/* An operator, or several that behave alike, as one row. */
struct ox_blocks_op {
  const char *ops;    /* alternatives by '|' */
  const char *domain; /* NULL: ai.onnx */
  /* Whether |node| can; fills in, out, gain and wants, which are 0. */
  bool (*can)(const ox_rewrite *g, ox_id node, ox_blocks_use *u);
  /* Makes |node| compute on blocks, but for the operands of |u->in| and the results of |u->out|: these are changed
   * afterwards, so that their shapes can still be asked for. NULL: nothing is to be done. */
  ox_status *(*edit)(const ox_rewrite *g, ox_id node, const ox_blocks_use *u);
};

/* Tables of rows: a NULL |ops| ends each. */
extern const ox_blocks_op ox_blocks_conv_ops[], ox_blocks_wise_ops[], ox_blocks_axis_ops[], ox_blocks_space_ops[],
    ox_blocks_norm_ops[], ox_blocks_concat_ops[];

/* ---- questions that rows ask ---- */

/* Channels of a float32 tensor of rank 3 to 5 that could be in blocks, or 0. One channel never pays. */
int64_t ox_blocks_channels(const ox_rewrite *g, ox_id v);
/* Elements of |v| outside and in blocks; dimensions that are not known count as some usual number. */
double ox_blocks_elements(const ox_rewrite *g, ox_id v, bool in_blocks);
/* ns that the unused lanes of |v| cost an operator that passes over it once. */
double ox_blocks_waste(const ox_rewrite *g, ox_id v);

/* ns for a float that is read and written once. */
#define OX_BLOCKS_NS 0.1

/* ---- edits ---- */

/* |v| with an axis of length 1 put in before |axis|. */
OX_NODISCARD ox_status *ox_blocks_unsqueeze(const ox_rewrite *g, ox_id v, int64_t axis, ox_id *out);
/* |v|, of |shape|, in blocks: a ToBlocks, or a view. */
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

/* Whether |node| is a Transpose from channels last to channels first, or back, of whole blocks, so that blocks can be
 * moved instead (rules/blocks_last.c). */
bool ox_blocks_from_last(const ox_rewrite *g, ox_id node);
bool ox_blocks_to_last(const ox_rewrite *g, ox_id node);

#endif
