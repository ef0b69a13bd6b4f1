/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines_neon.c - maxima of lines of bytes on AArch64. */
#include "kern/simd/f32_neon.h"

#include "kern/simd/bytes_neon.h"

#define LINES_ISA neon
#define LINES_NEEDS OX_NEON
#include "kern/pool/max_lines_body.h"
