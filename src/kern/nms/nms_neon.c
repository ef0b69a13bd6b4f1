/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_neon.c - nms_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define NMS_ISA neon
#define NMS_NEEDS OX_NEON
#include "kern/nms/nms_body.h"
