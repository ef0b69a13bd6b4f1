/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_plain_neon.c - unary_plain_body.h on this instruction set. */
#define UNARY_PLAIN ox_unary_plain__neon
#include "kern/unary/unary_plain_body.h"
