/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops.c - selects the variant for an instruction set. */
#include "od_loops.h"

#define OD_LOOPS(isa, suffix) extern const od_loops_table od_loops__##suffix;
#include "od_loops_variants.inc"
#undef OD_LOOPS

const od_loops_table *od_loops_select(ox_isa have) {
#define OD_LOOPS(isa, suffix) \
  if (((isa) & ~have) == 0) return &od_loops__##suffix;
#include "od_loops_variants.inc"
#undef OD_LOOPS
  return NULL;
}
