/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_chain.h - chains: the nodes after a convolution, product or arithmetic that are fused into it as
 * post-operations ("posts"). */
#ifndef OD_CHAIN_H
#define OD_CHAIN_H

#include "od_eltwise.h"

enum { OD_MOST_POSTS = 8, OD_MOST_SWALLOWED = 20 };

typedef struct od_post {
  od_function f;    /* a function of the result so far, if |operand| is OD_NO_VALUE */
  uint32_t operand; /* else arithmetic with this value; f.alg is dnnl_binary_* */
  bool sum;         /* an addition in place: |operand| lies in the output's memory */
  int rank;         /* of |operand| as the primitive sees it */
  int64_t dims[OD_MOST_DIMS];
} od_post;

/* A fused node. */
typedef struct od_swallowed {
  size_t node;
  uint32_t out;     /* the chain's output with this node as the last */
  uint32_t n_posts; /* the number of posts up to and including this node */
} od_swallowed;

typedef struct od_chain {
  uint32_t first, out; /* the outputs of the first node and of the whole chain */
  ox_shape shape;      /* of both */
  uint32_t dtype;
  int rank; /* with |dims|: the primitive's output, which may be |shape| with other dimensions */
  int64_t dims[OD_MOST_DIMS];
  uint32_t n_posts, n_nodes;
  uint32_t n_own;   /* posts that belong to the first node */
  bool of_integers; /* the primitive works on integers: the chain may end in a QuantizeLinear, and has no sum post */
  bool quantized;   /* it ends in a QuantizeLinear, with the parameters below */
  float q_scale;
  int32_t q_zero;
  uint32_t q_type;
  int32_t q_low, q_high; /* the type's range; with od_chain_only_cuts, as restricted by Relu and Clip */
  od_post post[OD_MOST_POSTS];
  od_swallowed node[OD_MOST_SWALLOWED];
} od_chain;

/* Begins a chain with |value|, an output of the node being built. */
void od_chain_begin(uint32_t value, const ox_shape *shape, uint32_t dtype, int rank, const int64_t *dims,
                    od_chain *out);
/* Adds a post that belongs to the first node itself. */
void od_chain_own(od_chain *c, od_post p);
/* Extends the chain by all the nodes that can be fused. */
void od_chain_find(od_builder *b, od_chain *c);
/* Removes the last node; false: there is none left. */
bool od_chain_shorten(od_chain *c);
/* Sets |p|'s dimensions so that an operand of shape |s| broadcasts to the primitive's output; false: impossible. */
bool od_chain_see(const od_chain *c, const ox_shape *s, od_post *p);
/* Ends the chain with a quantization by |scale| and |zero| to |type|. */
void od_chain_quantize(od_chain *c, float scale, int32_t zero, uint32_t type);
/* Are there only Relus and Clips before the final QuantizeLinear? They then become bounds of its integers, so its scale
 * can be applied first. */
bool od_chain_only_cuts(const od_chain *c);
uint32_t od_chain_type(const od_chain *c); /* element type of the output */
/* Sets the posts in |attr|, and the zero point of a final QuantizeLinear. */
dnnl_status_t od_chain_attr(const od_builder *b, const od_chain *c, dnnl_primitive_attr_t attr);
/* Emits |pd| with |args|, to which the posts' operands and the output are added. Takes ownership of |pd|. */
ox_status *od_chain_emit(od_builder *b, const od_chain *c, dnnl_primitive_desc_t pd, od_args *args);
#endif
