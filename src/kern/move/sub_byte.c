/* SPDX-License-Identifier: Apache-2.0
 * kern/move/sub_byte.c - moves packed elements one by one: it is rarely needed, so it need not be fast. */
#include "kern/move/sub_byte.h"

void ox_sub_byte_copy(unsigned bits, const ox_region *r, const void *in, void *out) {
  int64_t at[OX_MOVE_DIMS] = {0}, i = r->in_off, o = r->out_off, count = 1, per = 8 / (int)bits;
  for (int k = 0; k < r->rank; k++) count *= r->dim[k];
  for (int64_t n = 0; n < count; n++) {
    if (o % per == 0 && n + per > count) ((uint8_t *)out)[o / per] = 0;
    ox_sub_byte_set(out, bits, o, ox_sub_byte_get(in, bits, i));
    for (int k = r->rank - 1; k >= 0; k--) {
      i += r->is[k], o += r->os[k];
      if (++at[k] < r->dim[k]) break;
      i -= at[k] * r->is[k], o -= at[k] * r->os[k], at[k] = 0;
    }
  }
}
