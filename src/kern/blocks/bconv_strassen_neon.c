/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_neon.c - Strassen's products on one instruction set. */
#include "kern/simd/f32_neon.h"

#define SW_ISA neon
#define SW_NEEDS OX_NEON
#define SW_NP 1 /* panels of a half */
#define SW_MR 6 /* pixels of a half, at most */
#define SW_K_AT_ONCE 4
#include "kern/blocks/bconv_strassen_body.h"
