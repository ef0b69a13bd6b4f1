/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_plain_avx2.c - unary_plain_body.h on this instruction set. */
#define UNARY_PLAIN ox_unary_plain__avx2
#include "kern/unary/unary_plain_body.h"
