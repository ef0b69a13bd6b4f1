/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_avx2.c - nms_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define NMS_ISA avx2
#define NMS_NEEDS OX_AVX2
#include "kern/nms/nms_body.h"
