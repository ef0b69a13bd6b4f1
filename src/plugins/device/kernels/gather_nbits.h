/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gather_nbits.h - GatherBlockQuantized: gathers values of 2, 4 or 8 bits and dequantizes them. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/gather_nbits_params.h"

FUNCTION int gather_nbits_value(const gather_nbits_params *p, const GLOBAL unsigned char *v, int i) {
  int each = 8 / p->bits, x = v[i / each] >> (i % each * p->bits) & ((1 << p->bits) - 1);
  return p->is_signed && x >> (p->bits - 1) ? x - (1 << p->bits) : x;
}

KERNEL(gather_nbits, gather_nbits_params) {
  BUFFER(const unsigned char, x, 0);
  BUFFER(const char, index, 1);
  BUFFER(const REAL, scale, 2);
  BUFFER(const unsigned char, zero, 3);
  BUFFER(REAL, y, 4);
  PARAMS(gather_nbits_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int row = i / p.inner, which = row % p.many;
      dev_long at = p.wide ? ((const GLOBAL dev_long *)index)[which] : ((const GLOBAL int *)index)[which];
      if (at < 0) at += p.axis;
      float v = 0.0f; /* for an index outside of the axis */
      if (at >= 0 && at < p.axis) {
        int from = (row / p.many * p.axis + (int)at) * p.inner + i % p.inner, rest = from / p.post;
        int s = rest / p.size * p.pre_step + rest % p.size / p.block * p.block_step + from % p.post * p.post_step;
        int z = p.has_zero ? gather_nbits_value(&p, zero, s / p.scale_row * p.zero_row + s % p.scale_row) : p.zero;
        v = (float)(gather_nbits_value(&p, x, from) - z) * LOAD(scale, s);
      }
      STORE(y, i, v);
    }
  }
}
