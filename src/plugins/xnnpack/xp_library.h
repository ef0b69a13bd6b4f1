/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_library.h - the library's operators, of whichever API it has: one of the folders api20* is built.
 *
 * That of 2022 is told sizes when it is set up for a call. That of 2024 is told them before, once for many calls, and
 * says then how much memory it wants to work on. */
#ifndef XP_LIBRARY_H
#define XP_LIBRARY_H

#include "xp_kinds.h"

struct xp_calls {
  /* NULL: it has weights, and xp_lib_make (xp_recipe.h) makes it. */
  enum xnn_status (*create)(const xp_step *s, const xp_call *c, xnn_operator_t *out_op);
  /* For shapes and a number of threads; |*out_room|, which is 0 before: bytes for |c->room|. NULL: setup does it. */
  enum xnn_status (*reshape)(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room);
  /* For data. */
  enum xnn_status (*setup)(const xp_step *s, const xp_call *c, xnn_operator_t op);
};

/* |which| of steps is one of xp_unary or xp_binary. What the library lacks it does not create. */
extern const xp_calls xp_lib_unary, xp_lib_convert, xp_lib_half, xp_lib_prelu, xp_lib_softmax, xp_lib_binary,
    xp_lib_pad;
extern const xp_calls xp_lib_max_pool, xp_lib_average_pool, xp_lib_global_average_pool, xp_lib_resize;
extern const xp_calls xp_lib_conv, xp_lib_deconv, xp_lib_linear;
extern const xp_calls xp_lib_product; /* of two inputs; |create| NULL: the library has none */

extern const char xp_lib_version[];
extern const bool xp_lib_pointwise; /* a Conv of single pixels had better be a product of matrices */
extern const bool xp_lib_bounds;    /* of sums and global means: else the step has none */
/* Means, with a stride, of so few rows that those at the top and those at the bottom are the same ones. */
extern const bool xp_lib_averages_few_rows;

#endif
