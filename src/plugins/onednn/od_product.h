/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_product.h - products of matrices. */
#ifndef OD_PRODUCT_H
#define OD_PRODUCT_H

#include "od_chain.h"

/* Dimensions of the primitive's operands; |shape| is that of the output value. */
typedef struct od_product {
  int rank;
  int64_t k, a[OD_MOST_DIMS], w[OD_MOST_DIMS], y[OD_MOST_DIMS];
  ox_shape shape;
} od_product;

/* |w_plain|: the layout in which the model has the weights; |bias|: without dimensions if there is none. */
typedef struct od_product_types {
  dnnl_memory_desc_t a, w, w_plain, bias, y;
} od_product_types;

ox_status *od_product_shape(od_builder *b, const ox_shape *a, const ox_shape *w, od_product *p);
dnnl_status_t od_product_describe(od_builder *b, const od_product_types *t, dnnl_primitive_attr_t attr,
                                  dnnl_primitive_desc_t *out_pd);

#endif
