/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_library.h - the library's operators behind one interface; the folder api20* that implements the library's
 * API is built.
 *
 * The API of 2022 gets sizes in setup, before each call. That of 2024 gets them in a separate reshape, once for many
 * calls, which also reports how much workspace the operator needs. */
#ifndef XP_LIBRARY_H
#define XP_LIBRARY_H

#include "xp_kinds.h"

struct xp_calls {
  /* NULL if the operator has weights, which xp_lib_make (xp_recipe.h) creates, or if no operator is kept between calls:
   * then |op| is NULL below, and setup also computes, with operators that it makes in |c->room|. */
  enum xnn_status (*create)(const xp_step *s, const xp_call *c, xnn_operator_t *out_op);
  /* Fixes shapes and the number of threads. Stores the workspace size for |c->room| in |*out_room|, which the caller
   * has set to 0. NULL: setup does it. */
  enum xnn_status (*reshape)(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room);
  /* Binds the data pointers. */
  enum xnn_status (*setup)(const xp_step *s, const xp_call *c, xnn_operator_t op);
};

/* A step's |which| is an xp_unary or xp_binary. |create| fails for what the library lacks. */
extern const xp_calls xp_lib_unary, xp_lib_convert, xp_lib_half, xp_lib_prelu, xp_lib_softmax, xp_lib_binary,
    xp_lib_pad;
extern const xp_calls xp_lib_max_pool, xp_lib_average_pool, xp_lib_global_average_pool, xp_lib_resize;
extern const xp_calls xp_lib_conv, xp_lib_deconv, xp_lib_linear;
extern const xp_calls xp_lib_product; /* MatMul of two inputs */

extern const char xp_lib_version[];
extern const bool xp_lib_pointwise; /* a 1x1 Conv is faster as the library's fully connected operator */
extern const bool xp_lib_bounds;    /* binary operators and global means take output bounds */
/* Strided AveragePool is right when rows that reach into the top pads also reach into the bottom pads. */
extern const bool xp_lib_averages_few_rows;

#endif
