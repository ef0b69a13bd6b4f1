/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_avx512.c - means of lines of bytes in AVX-512. */
#define LINES_ISA avx512
#define LINES_NEEDS OX_AVX512
#include "kern/pool/mean_lines_body.h"
