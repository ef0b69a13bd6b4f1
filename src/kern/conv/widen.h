/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/widen.h - float16 and bfloat16 to float32 and back, in bulk, for kernels that compute in float32. */
#ifndef OX_KERN_CONV_WIDEN_H
#define OX_KERN_CONV_WIDEN_H

#include <stddef.h>
#include <stdint.h>

/* |dtype|: OX_F32, OX_F16, OX_BF16 or OX_F64. No alignment needed. */
void ox_widen_f32(uint32_t dtype, const void *src, float *dst, size_t n);
void ox_narrow_f32(uint32_t dtype, const float *src, void *dst, size_t n);

#endif
