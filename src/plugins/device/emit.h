/* SPDX-License-Identifier: Apache-2.0
 * device/emit.h - what operators have in common when they turn nodes into launches. */
#ifndef OX_DEVICE_EMIT_H
#define OX_DEVICE_EMIT_H

#include "plugins/device/fail.h"
#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/op.h"

#define DEV_LENGTH(array) (sizeof(array) / sizeof *(array))

/* Groups of |items| that hold |n|; 0 for none. */
uint32_t dev_groups(int64_t n, int64_t items);

/* |c| with groups of 256 items for |n| of them; nothing if there are none. */
OX_NODISCARD ox_status *dev_emit_items(dev_plan *p, dev_call *c, int64_t n);
#define DEV_PARAMS(value) .params = &(value), .params_bytes = sizeof(value)

/* For takes: NULL if dev_all_real and ranks are from |least| to |most|. */
const char *dev_takes_real(const dev_node *n, int least, int most);

/* Axis |axis| of |rank| axes, counted from the front; -1: there is none. */
int dev_axis(int64_t axis, int rank);
/* The product of dimensions |begin| to |end| - 1. */
int64_t dev_span(const ox_shape *s, int begin, int end);

/* Strides of an operand of shape |o| in an output |y|, 0 where it is broadcast; the last dimension first. */
void dev_broadcast_steps(const ox_shape *o, const ox_shape *y, int *out);

/* Axes of a convolution or a pool, always three: depth, height, width; those that X lacks have size 1. */
typedef struct dev_window {
  int axes;
  int in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
} dev_window;
/* |kernel|: the shape that holds if the attribute is absent (from dimension 2 on), or NULL. */
void dev_window_read(const dev_plan *p, const dev_node *n, const ox_shape *kernel, uint32_t out, dev_window *w);
/* [N, ..., C] as [N, C, ...]. */
ox_shape dev_channels_first(const ox_shape *s);
/* As above, of X and an output with these shapes. */
void dev_window_of(const dev_node *n, const ox_shape *x, const ox_shape *y, const ox_shape *kernel, dev_window *w);

/* ops/pool.c: its axes; channels come first. */
void dev_pool_window(const dev_window *w, pool_params *out);

/* ops/softmax.c: of one element at least. */
OX_NODISCARD ox_status *dev_emit_softmax(dev_plan *p, const softmax_params *s, uint32_t dtype, dev_ref x, dev_ref y);
/* ops/bias_gelu.c: FastGelu with a bias, for what has those without. */
bool dev_bias_gelu_is(const dev_node *n);
const char *dev_bias_gelu_takes(const dev_node *n);
OX_NODISCARD ox_status *dev_bias_gelu_emit(dev_plan *p, const dev_node *n);

/* ---- tails (op.h) ---- */

/* No steps; the output is value |out|. */
dev_tail dev_tail_none(uint32_t out);
/* v op (operand at index / div % mod). */
void dev_tail_operand(dev_tail *t, int op, dev_ref operand, int64_t div, int64_t mod);
void dev_tail_constant(dev_tail *t, int op, float a);
/* |first|, then |then|, as one; false: there is no room. */
bool dev_tail_join(const dev_tail *first, const dev_tail *then, dev_tail *out);
/* Appends operands to the buffers of |c|. */
void dev_call_tail(dev_call *c, const dev_tail *t);
/* On |n| elements of |y|, in place; nothing if there are no steps. */
OX_NODISCARD ox_status *dev_emit_tail(dev_plan *p, const dev_tail *t, dev_ref y, uint32_t dtype, int64_t n);
/* A tail as a library can do it: of |n| results, a bias at index / div % mod and a value of the result's shape are added,
 * each at most once, and Relu ends it. False: it is none of these, or has steps besides. */
bool dev_tail_after(const dev_tail *t, int64_t n, int64_t div, int64_t mod, dev_after *out, dev_ref *out_bias,
                    dev_ref *out_add);

/* A library's call, of |n| results with a bias at index / div % mod. */
typedef struct dev_library_call {
  ox_status *(*emit)(dev_plan *p, const void *shape, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken);
  const void *shape; /* dev_gemm or dev_conv */
  dev_after *after;  /* of it */
  dev_ref buffers[DEV_CALL_BUFFERS];
  int64_t n, div, mod;
} dev_library_call;
/* With all of |tail| (NULL: it was too long) if the library can (|*out_finished|), else without. */
OX_NODISCARD ox_status *dev_try_library(dev_plan *p, dev_library_call *c, const dev_tail *tail, bool *out_taken,
                                        bool *out_finished);

/* ---- products ---- */

/* A batch of matrix products; |first|, a bias and its like, and |then|, what was taken, come after. */
typedef struct dev_product {
  gemm_params g; /* without wide, c_row, c_col and the tail */
  uint32_t dtype;
  dev_ref a, b, c;
  const dev_tail *first, *then; /* NULL: none */
} dev_product;
OX_NODISCARD ox_status *dev_emit_product(dev_plan *p, const dev_product *x);
/* Batch axes of two operands of a MatMul, aligned at the right and broadcast, for |g| with m, n and k; those that step
 * alike become one. */
void dev_batch_axes(const ox_shape *a, const ox_shape *b, gemm_params *g);

#endif
