/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_window.h - the window of a convolution or a pooling. */
#ifndef OD_WINDOW_H
#define OD_WINDOW_H

#include "od_build.h"

typedef struct od_window {
  int n;                          /* spatial dimensions */
  dnnl_dims_t size, step, dilate; /* dilate: in the library's convention, 0 is dense */
  dnnl_dims_t before, after;      /* padding */
  dnnl_dims_t out;
} od_window;

/* Why the attributes cannot be used for |n_spatial| dimensions; NULL: they can. */
const char *od_window_refuse(const od_node *n, int n_spatial);
/* Fills |w| for an input of these spatial dimensions. |after| is set so that the library computes |out| from it; it may
 * differ from the model's pads. False: there is no output. */
bool od_window_read(const od_node *n, int n_spatial, const int64_t *in, const int64_t *size, bool is_pool,
                    bool ceil_mode, od_window *w);

#endif
