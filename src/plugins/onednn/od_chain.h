/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_chain.h - what comes after a convolution or a product and is computed with it: post-operations. */
#ifndef OD_CHAIN_H
#define OD_CHAIN_H

#include "od_eltwise.h"

enum { OD_MOST_POSTS = 8, OD_MOST_SWALLOWED = 20 };

typedef struct od_post {
  od_function f;    /* of the result so far; |operand| is OD_NO_VALUE */
  uint32_t operand; /* or arithmetic with another value: f.alg, dnnl_binary_* */
  bool sum;         /* added to what is in the output's memory */
  int rank;         /* of |operand|, as it is seen */
  int64_t dims[OD_MOST_DIMS];
} od_post;

/* A node that was swallowed, with the number of posts that it has become part of. */
typedef struct od_swallowed {
  size_t node;
  uint32_t out; /* the value that is made then */
  uint32_t n_posts;
} od_swallowed;

typedef struct od_chain {
  uint32_t first, out; /* the value of the node that begins it; of all */
  ox_shape shape;      /* of both */
  uint32_t dtype;
  int rank; /* of the primitive's output, which may be seen with other dimensions than |shape| */
  int64_t dims[OD_MOST_DIMS];
  uint32_t n_posts, n_nodes;
  uint32_t n_own;   /* posts of the node that begins it */
  bool of_integers; /* the primitive computes with integers: it may end with a QuantizeLinear, and adds no sums */
  bool quantized;   /* it does */
  float q_scale;
  int32_t q_zero;
  uint32_t q_type;
  int32_t q_low, q_high; /* what Relu and Clip leave of the type, if od_chain_only_cuts */
  od_post post[OD_MOST_POSTS];
  od_swallowed node[OD_MOST_SWALLOWED];
} od_chain;

/* Of |value|, which is made by the node being built. */
void od_chain_begin(uint32_t value, const ox_shape *shape, uint32_t dtype, int rank, const int64_t *dims,
                    od_chain *out);
/* A post of the node that begins it. */
void od_chain_own(od_chain *c, od_post p);
/* All that can follow. */
void od_chain_find(od_builder *b, od_chain *c);
/* Without its last node; false: there is none left. */
bool od_chain_shorten(od_chain *c);
/* |s| as an operand of the primitive's output; false: it cannot be seen so. */
bool od_chain_see(const od_chain *c, const ox_shape *s, od_post *p);
/* |c| ends with a quantization by |scale| and |zero| to |type|, and nothing comes after that. */
void od_chain_quantize(od_chain *c, float scale, int32_t zero, uint32_t type);
/* Whether there are only Relus and Clips before the QuantizeLinear at the end: they become bounds of its integers, and
 * its scale goes before them. */
bool od_chain_only_cuts(const od_chain *c);
uint32_t od_chain_type(const od_chain *c); /* of the output */
/* |attr| gets the posts, and the zero of a QuantizeLinear at the end. */
dnnl_status_t od_chain_attr(const od_builder *b, const od_chain *c, dnnl_primitive_attr_t attr);
/* Emits |pd| with |args|, to which operands and output are added. Takes |pd|. */
ox_status *od_chain_emit(od_builder *b, const od_chain *c, dnnl_primitive_desc_t pd, od_args *args);
#endif
