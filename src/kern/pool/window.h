/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/window.h - sliding windows as Conv and the pools describe them: attributes checked, padding resolved. */
#ifndef OX_KERN_POOL_WINDOW_H
#define OX_KERN_POOL_WINDOW_H

#include <stdbool.h>

#include "base/status.h"
#include "onyx/ep.h"

enum { OX_WINDOW_AXES = OX_MAX_RANK - 2 };

typedef enum ox_auto_pad { OX_PAD_NOTSET, OX_PAD_VALID, OX_PAD_SAME_UPPER, OX_PAD_SAME_LOWER } ox_auto_pad;

typedef struct ox_window {
  int axes;
  ox_auto_pad auto_pad;
  bool ceil;    /* round the output extent up */
  bool clipped; /* pools: a window longer than the padded input may count as one; see ox_window_axis */
  int64_t kernel[OX_WINDOW_AXES], stride[OX_WINDOW_AXES], dilation[OX_WINDOW_AXES];
  int64_t pad_lo[OX_WINDOW_AXES], pad_hi[OX_WINDOW_AXES]; /* as given; ox_window_axis resolves auto_pad */
} ox_window;

/* An attribute that is a list of integers. */
typedef struct ox_window_list {
  size_t n;
  const int64_t *v;
} ox_window_list;

/* NOTSET, "", SAME_UPPER ...; NULL counts as NOTSET. */
OX_NODISCARD ox_status *ox_auto_pad_read(const char *text, ox_auto_pad *out);
/* Checks and copies; empty lists mean ones (strides, dilations) or zeros (pads). Errors: INVALID_MODEL. */
OX_NODISCARD ox_status *ox_window_read(ox_window *w, int axes, ox_window_list kernel, ox_window_list strides,
                                       ox_window_list dilations, ox_window_list pads, const char *auto_pad);
/* Extent of the output along axis |a| and the padding in effect; -1 if |in| < 0. Error: the window is longer than the
 * padded input. Not so if |clipped|: the formula's quotient, which the standard leaves open below zero, is rounded
 * towards zero as in ONNX Runtime. A window too long by less than a stride gives one element, of the input there is; by
 * less than two strides, none. */
OX_NODISCARD ox_status *ox_window_axis(const ox_window *w, int a, int64_t in, int64_t *out, int64_t *lo, int64_t *hi);

#endif
