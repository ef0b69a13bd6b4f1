/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_quant.h - quantized values: QuantizeLinear and DequantizeLinear. */
#ifndef OD_QUANT_H
#define OD_QUANT_H

#include "od_build.h"

float od_scale_at(const od_quant *q, int64_t i);
int32_t od_zero_at(const od_quant *q, int64_t i);
bool od_quant_is_one(const od_quant *q);               /* one scale for the whole tensor */
od_grid od_grid_of(const od_quant *q, uint32_t dtype); /* needs od_quant_is_one; |dtype|: of the integers */

/* Reads the scale at input |at| of |n| and the zero point at the input after it: NULL, or why that is impossible. */
const char *od_quant_read(const od_node *n, size_t at, od_quant *q);
/* False unless |n| is a QuantizeLinear with one scale. */
bool od_quantize_read(const od_node *n, od_quant *out, uint32_t *out_type);
/* Adds the step that dequantizes a value whose integers alone exist so far. */
ox_status *od_dequantize(od_builder *b, uint32_t value);

#endif
