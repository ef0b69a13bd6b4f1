/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm.c - picks the float versions for an instruction set. */
#include "kern/norm/norm.h"

#define OX_NORM(isa, suffix) extern const ox_norm_table ox_norm__##suffix;
#include "kern/norm/norm_variants.inc"
#undef OX_NORM

const ox_norm_table *ox_norm_select(ox_isa have) {
#define OX_NORM(isa, suffix) \
  if (((isa) & ~have) == 0) return &ox_norm__##suffix;
#include "kern/norm/norm_variants.inc"
#undef OX_NORM
  return NULL;
}
