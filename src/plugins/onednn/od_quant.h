/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_quant.h - integers that stand for numbers: QuantizeLinear and DequantizeLinear. */
#ifndef OD_QUANT_H
#define OD_QUANT_H

#include "od_build.h"

float od_scale_at(const od_quant *q, int64_t i);
int32_t od_zero_at(const od_quant *q, int64_t i);
bool od_quant_is_one(const od_quant *q);               /* one scale for all */
od_grid od_grid_of(const od_quant *q, uint32_t dtype); /* of integers of |dtype|, if it is one */

/* Of the scale at input |at| of |n| and the zero behind it; why not, or NULL. */
const char *od_quant_read(const od_node *n, size_t at, od_quant *q);
/* |n| is a QuantizeLinear of one scale. */
bool od_quantize_read(const od_node *n, od_quant *out, uint32_t *out_type);
/* Computes the numbers of a value that is integers. */
ox_status *od_dequantize(od_builder *b, uint32_t value);

#endif
