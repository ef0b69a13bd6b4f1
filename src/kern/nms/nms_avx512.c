/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_avx512.c - nms_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define NMS_ISA avx512
#define NMS_NEEDS OX_AVX512
#include "kern/nms/nms_body.h"
