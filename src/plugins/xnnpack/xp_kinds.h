/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds.h - the kinds of steps. */
#ifndef XP_KINDS_H
#define XP_KINDS_H

#include "xp_program.h"

/* With weights (xp_kinds_weights.c). */
extern const xp_kind xp_kind_conv, xp_kind_pointwise, xp_kind_deconv, xp_kind_linear;
/* Of two inputs. flags 1: the right factor has the product's columns as rows. */
extern const xp_kind xp_kind_product;
/* Of windows, in channels last (xp_kinds_window.c). */
extern const xp_kind xp_kind_max_pool, xp_kind_average_pool, xp_kind_global_average_pool, xp_kind_resize;
/* Element by element (xp_kinds_element.c). A step's |which| is an xp_unary or xp_binary. */
extern const xp_kind xp_kind_unary, xp_kind_binary, xp_kind_convert, xp_kind_half, xp_kind_prelu, xp_kind_softmax,
    xp_kind_pad, xp_kind_tanh;
/* Arithmetic of two inputs with bounds, our own code (xp_kinds_bounded.c). */
extern const xp_kind xp_kind_bounded;
/* Data movement, our own code (xp_kinds_move.c). */
extern const xp_kind xp_kind_relayout, xp_kind_concat, xp_kind_slice, xp_kind_transpose, xp_kind_depth_to_space;

typedef enum {
  XP_ABS,
  XP_CEIL,
  XP_CLAMP,
  XP_ELU,
  XP_FLOOR,
  XP_HARD_SWISH,
  XP_LEAKY_RELU,
  XP_NEG,
  XP_ROUND,
  XP_SIGMOID,
  XP_SQRT,
  XP_TANH,
  XP_EXP,
  XP_GELU
} xp_unary;
typedef enum { XP_ADD, XP_DIV, XP_MAX, XP_MIN, XP_MUL, XP_SUB } xp_binary;

/* ONNX's broadcast of two shapes; false: they do not fit. */
bool xp_broadcast(const xp_dims *a, const xp_dims *b, xp_dims *out);
/* The length of a row of the first input: its last dimension in memory. For Softmax, which views the input as a matrix,
 * the product of the dimensions from |axis| on. */
size_t xp_row(const xp_call *c);
size_t xp_softmax_row(const xp_step *s, const xp_call *c);
/* The dimensions of input |i| in memory order. */
void xp_sizes(const xp_call *c, int i, size_t out[XP_MOST_RANK]);
/* The window of a pool, with pads added where the padded image is smaller than the window. Neither a maximum nor a mean
 * counts them. */
xp_window xp_pool_window(const xp_step *s, const xp_dims *x);
/* Columns of a product by |b|. */
static inline int64_t xp_product_columns(const xp_step *s, const xp_dims *b) { return b->d[b->rank - (s->flags ? 2 : 1)]; }
/* Rows and columns of an image of rank 3 (one row) or 4. */
static inline size_t xp_rows(const xp_dims *d) { return d->rank == 3 ? 1 : (size_t)d->d[2]; }
static inline size_t xp_columns(const xp_dims *d) { return (size_t)d->d[d->rank - 1]; }

#endif
