/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_recipe.h - the description of an operator with weights, from which the library's operator is created. */
#ifndef XP_RECIPE_H
#define XP_RECIPE_H

#include "xp.h"

/* The window of a Conv or pool; pairs are rows, columns. */
typedef struct xp_window {
  uint32_t top, left, bottom, right;
  uint32_t size[2], stride[2], dilation[2];
  uint32_t extra[2]; /* ConvTranspose: output_padding */
  uint32_t same;     /* 1: auto_pad SAME_UPPER, computed by the library; the pads above are ignored */
} xp_window;

typedef enum { XP_CONV, XP_DECONV, XP_LINEAR } xp_weighted;
typedef enum { XP_AS_F32, XP_AS_S8, XP_AS_S8_CHANNELS, XP_AS_U8 } xp_arithmetic;

/* Must be cleared with memset first, since its bytes up to |kernel|, padding included, are digested. */
typedef struct xp_recipe {
  uint32_t op, arithmetic; /* xp_weighted, xp_arithmetic */
  xp_window window;
  uint32_t groups, channels_in, channels_out; /* channels per group */
  uint32_t flags;
  float lo, hi;       /* XP_AS_F32 */
  int32_t q_lo, q_hi; /* these and the next two lines: 8-bit arithmetic */
  int32_t x_zero, w_zero, y_zero;
  float x_scale, w_scale, y_scale;
  uint32_t has_bias;
  const void *kernel; /* [groups * channels_out, rows, columns, channels_in] */
  size_t kernel_bytes;
  const void *bias;      /* one per output channel; NULL: none */
  const float *w_scales; /* one per output channel, for XP_AS_S8_CHANNELS */
} xp_recipe;

/* Implemented in the folder of the library's API (xp_library.h). */
enum xnn_status xp_lib_make(const xp_recipe *r, xnn_operator_t *out_op);
/* Width of the operator's packed weight panels: column blocks (xp_pool.h) must be a multiple of it. 0: its columns are
 * not to be blocked, or the library does so by itself. */
uint32_t xp_lib_panel(const xp_recipe *r);

#endif
