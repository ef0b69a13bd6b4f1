/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_avx2.c - means of lines of bytes in AVX2. */
#define LINES_ISA avx2
#define LINES_NEEDS OX_AVX2
#include "kern/pool/mean_lines_body.h"
