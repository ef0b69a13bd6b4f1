/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_recipe.h - what an operator with weights is made of. */
#ifndef XP_RECIPE_H
#define XP_RECIPE_H

#include "xp.h"

/* Of a Conv or a pool: rows, columns. */
typedef struct xp_window {
  uint32_t top, left, bottom, right;
  uint32_t size[2], stride[2], dilation[2];
  uint32_t extra[2]; /* ConvTranspose: output_padding */
  uint32_t same;     /* 1: padded as TensorFlow does, whatever the pads are */
} xp_window;

typedef enum { XP_CONV, XP_DECONV, XP_LINEAR } xp_weighted;
typedef enum { XP_AS_F32, XP_AS_S8, XP_AS_S8_CHANNELS, XP_AS_U8 } xp_arithmetic;

/* All of an operator. Made with memset, as its bytes are digested up to |kernel|. */
typedef struct xp_recipe {
  uint32_t op, arithmetic; /* xp_weighted, xp_arithmetic */
  xp_window window;
  uint32_t groups, channels_in, channels_out; /* of a group */
  uint32_t flags;
  float lo, hi;       /* XP_AS_F32 */
  int32_t q_lo, q_hi; /* the others, with what follows */
  int32_t x_zero, w_zero, y_zero;
  float x_scale, w_scale, y_scale;
  uint32_t has_bias;
  const void *kernel; /* [groups * channels_out, rows, columns, channels_in] */
  size_t kernel_bytes;
  const void *bias;      /* as many as there are channels out; NULL: none */
  const float *w_scales; /* of each channel out: XP_AS_S8_CHANNELS */
} xp_recipe;

/* In the folder of the library's API (xp_library.h). */
enum xnn_status xp_lib_make(const xp_recipe *r, xnn_operator_t *out_op);
/* Products are done tile of rows by tile of rows, each of which goes through all weights. Pieces of them must have a
 * multiple of so many columns; 0: the library cuts by itself. */
extern const uint32_t xp_lib_panel;

#endif
