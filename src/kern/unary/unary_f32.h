/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32.h - float functions that are the same on every instruction set: one libm call an element. */
#ifndef OX_KERN_UNARY_UNARY_F32_H
#define OX_KERN_UNARY_UNARY_F32_H

#include "kern/unary/unary.h"

ox_unary_f32_fn ox_sin_f32, ox_cos_f32, ox_tan_f32;

#endif
