/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/reduce_place.h - positions of the terms of a reduction. Included by kernels. */

/* The position of the first term of output |i|. */
FUNCTION int reduce_kept(const reduce_params *p, int i) {
  int at = 0;
  for (int d = REDUCE_DIMS - 1; d >= 0; d--) at += i % p->kept[d] * p->kept_stride[d], i /= p->kept[d];
  return at;
}

/* The offset of term |i| from the first one. */
FUNCTION int reduce_gone(const reduce_params *p, int i) {
  int at = 0;
  for (int d = REDUCE_DIMS - 1; d > 0; d--) at += i % p->gone[d] * p->gone_stride[d], i /= p->gone[d];
  return at + i * p->gone_stride[0];
}
