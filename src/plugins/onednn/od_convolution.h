/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_convolution.h - what Conv, QLinearConv and ConvTranspose share. */
#ifndef OD_CONVOLUTION_H
#define OD_CONVOLUTION_H

#include "od_chain.h"
#include "od_window.h"

typedef struct od_conv {
  int rank, w_rank;
  int64_t group, w_dims[6];
  ox_shape x, y;
  od_window window;
} od_conv;

typedef struct od_conv_types {
  dnnl_data_type_t x, w, bias, y; /* bias: undef if there is none */
} od_conv_types;

/* Fills |c| from the shapes of inputs |x_at| and |w_at|. */
ox_status *od_conv_shape(od_builder *b, const od_node *n, size_t x_at, size_t w_at, od_conv *c);
dnnl_status_t od_conv_describe(od_builder *b, const od_conv *c, const od_conv_types *t, dnnl_primitive_attr_t attr,
                               dnnl_primitive_desc_t *out_pd);

const char *od_conv_transpose_refuse(const od_node *n);
ox_status *od_conv_transpose_build(od_builder *b, const od_node *n);

#endif
