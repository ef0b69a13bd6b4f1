/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_scalar.c - means of lines of bytes in plain C. */
#define LINES_ISA scalar
#define LINES_NEEDS 0
#include "kern/pool/mean_lines_body.h"
