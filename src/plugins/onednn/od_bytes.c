/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_bytes.c - picks the variant for an instruction set. */
#include "od_bytes.h"

#define OD_BYTES(isa, suffix) extern const od_bytes_table od_bytes__##suffix;
#include "od_bytes_variants.inc"
#undef OD_BYTES

const od_bytes_table *od_bytes_select(ox_isa have) {
#define OD_BYTES(isa, suffix) \
  if (((isa) & ~have) == 0) return &od_bytes__##suffix;
#include "od_bytes_variants.inc"
#undef OD_BYTES
  return NULL;
}
