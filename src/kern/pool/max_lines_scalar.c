/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines_scalar.c - maxima of lines of bytes in plain C. */
#include "kern/simd/f32_scalar.h"

#include "kern/simd/bytes_scalar.h"

#define LINES_ISA scalar
#define LINES_NEEDS 0
#include "kern/pool/max_lines_body.h"
