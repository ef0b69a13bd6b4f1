/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane.c - which plane functions a CPU gets. */
#include "kern/pool/plane.h"

#define OX_PLANE(suffix) extern const ox_plane_variant ox_plane_f32__##suffix;
#include "kern/pool/plane_variants.inc"
#undef OX_PLANE

const ox_plane_variant *ox_plane_select(ox_isa have) {
  static const ox_plane_variant *const table[] = {
#define OX_PLANE(suffix) &ox_plane_f32__##suffix,
#include "kern/pool/plane_variants.inc"
#undef OX_PLANE
  };
  size_t i = 0;
  while (table[i]->needs & ~have) i++; /* the last line needs nothing */
  return table[i];
}
