/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_scalar.c - nms_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define NMS_ISA scalar
#define NMS_NEEDS 0
#include "kern/nms/nms_body.h"
