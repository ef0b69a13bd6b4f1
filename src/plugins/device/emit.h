/* SPDX-License-Identifier: Apache-2.0
 * device/emit.h - helpers shared by operators for turning nodes into launches. */
#ifndef OX_DEVICE_EMIT_H
#define OX_DEVICE_EMIT_H

#include "plugins/device/fail.h"
#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/op.h"

#define DEV_LENGTH(array) (sizeof(array) / sizeof *(array))

/* The number of groups of |items| that cover |n| items. */
uint32_t dev_groups(int64_t n, int64_t items);

/* Emits |c| with |n| items in groups of 256; nothing if |n| is 0. */
OX_NODISCARD ox_status *dev_emit_items(dev_plan *p, dev_call *c, int64_t n);
#define DEV_PARAMS(value) .params = &(value), .params_bytes = sizeof(value)

/* For takes: NULL if dev_all_real and ranks are from |least| to |most|. */
const char *dev_takes_real(const dev_node *n, int least, int most);
/* For takes: has input |in| from |least| (0 to 4) to |most| (2 to 8, or more than there can be) axes? */
const char *dev_takes_rank(const dev_node *n, size_t in, int least, int most);

/* Axis |axis| of |rank| axes, counted from the front; -1: there is none. */
int dev_axis(int64_t axis, int rank);
/* The product of dimensions |begin| to |end| - 1. */
int64_t dev_span(const ox_shape *s, int begin, int end);

/* Strides of an operand of shape |o| for an output of shape |y|, 0 where it is broadcast; last dimension first. */
void dev_broadcast_steps(const ox_shape *o, const ox_shape *y, int *out);

/* The window of a convolution or pool. Always three axes, depth, height, width; those that X lacks have size 1. */
typedef struct dev_window {
  int axes;
  int in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
} dev_window;
/* |kernel|: the weights' shape, whose dimensions from 2 on apply if the attribute kernel_shape is absent; or NULL. */
void dev_window_read(const dev_plan *p, const dev_node *n, const ox_shape *kernel, uint32_t out, dev_window *w);
/* Converts a shape [N, ..., C] to [N, C, ...]. */
ox_shape dev_channels_first(const ox_shape *s);
/* As dev_window_read, with explicit shapes of X and the output. */
void dev_window_of(const dev_node *n, const ox_shape *x, const ox_shape *y, const ox_shape *kernel, dev_window *w);

/* ops/pool.c: sets the window axes of |out|, for channels first. */
void dev_pool_window(const dev_window *w, pool_params *out);

/* ops/softmax.c: must not be empty. */
OX_NODISCARD ox_status *dev_emit_softmax(dev_plan *p, const softmax_params *s, uint32_t dtype, dev_ref x, dev_ref y);
/* ops/bias_gelu.c: FastGelu with a bias; called by the operator that handles FastGelu without one. */
bool dev_bias_gelu_is(const dev_node *n);
const char *dev_bias_gelu_takes(const dev_node *n);
OX_NODISCARD ox_status *dev_bias_gelu_emit(dev_plan *p, const dev_node *n);

/* ---- tails (op.h) ---- */

/* A tail without steps; the output is value |out|. */
dev_tail dev_tail_none(uint32_t out);
/* Appends the step v op operand[index / div % mod], or v op |a|. */
void dev_tail_operand(dev_tail *t, int op, dev_ref operand, int64_t div, int64_t mod);
void dev_tail_constant(dev_tail *t, int op, float a);
/* Concatenates |first| and |then|; false: too many steps. */
bool dev_tail_join(const dev_tail *first, const dev_tail *then, dev_tail *out);
/* Appends operands to the buffers of |c|. */
void dev_call_tail(dev_call *c, const dev_tail *t);
/* Emits a launch that applies |t| to |n| elements of |y| in place; nothing if there are no steps. */
OX_NODISCARD ox_status *dev_emit_tail(dev_plan *p, const dev_tail *t, dev_ref y, uint32_t dtype, int64_t n);
/* Converts a tail to a library's epilogue: on |n| results, at most one addition of a bias at index / div % mod, at most
 * one of a value of the result's shape, and possibly a final Relu. False: the tail has other steps, or none. */
bool dev_tail_after(const dev_tail *t, int64_t n, int64_t div, int64_t mod, dev_after *out, dev_ref *out_bias,
                    dev_ref *out_add);

/* A library's call with |n| results; a bias would be at index / div % mod. */
typedef struct dev_library_call {
  ox_status *(*emit)(dev_plan *p, const void *shape, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken);
  const void *shape; /* dev_gemm or dev_conv */
  dev_after *after;  /* the member of |shape| */
  dev_ref buffers[DEV_CALL_BUFFERS];
  int64_t n, div, mod;
} dev_library_call;
/* Emits the call with |tail| (NULL: it was too long) as epilogue if the library can do that (|*out_finished|), else
 * without it. */
OX_NODISCARD ox_status *dev_try_library(dev_plan *p, dev_library_call *c, const dev_tail *tail, bool *out_taken,
                                        bool *out_finished);

/* ---- products ---- */

/* A batch of matrix products, followed by the tails |first| (the node's own: a bias and its like) and |then| (fused
 * nodes). */
typedef struct dev_product {
  gemm_params g; /* all but wide, c_row, c_col and the tail, which dev_emit_product sets */
  uint32_t dtype;
  dev_ref a, b, c;
  const dev_tail *first, *then; /* NULL: none */
} dev_product;
OX_NODISCARD ox_status *dev_emit_product(dev_plan *p, const dev_product *x);
/* Sets the batch axes of |g|, whose m, n and k are set, for a MatMul of |a| and |b|: right-aligned and broadcast; axes
 * with compatible strides are merged. */
void dev_batch_axes(const ox_shape *a, const ox_shape *b, gemm_params *g);

#endif
