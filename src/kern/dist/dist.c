/* SPDX-License-Identifier: Apache-2.0
 * kern/dist/dist.c - selects the function for an instruction set. */
#include "kern/dist/dist.h"

ox_dist_fn ox_dist_select(ox_isa have) {
#define OX_DIST(needs, symbol) \
  if (((needs) & ~have) == 0) return symbol;
#include "kern/dist/dist_variants.inc"
#undef OX_DIST
  return NULL;
}
