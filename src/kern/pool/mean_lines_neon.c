/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_neon.c - means of lines of bytes on AArch64. */
#define LINES_ISA neon
#define LINES_NEEDS OX_NEON
#include "kern/pool/mean_lines_body.h"
