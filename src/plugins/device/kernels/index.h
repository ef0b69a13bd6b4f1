/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/index.h - reads an index of 32 or 64 bits; a negative one counts from the end. Indices outside of the
 * axis are clamped, so that nothing is read or written there. */
FUNCTION int index_at(const GLOBAL char *p, int wide, int i, int size) {
  dev_long at = wide ? ((const GLOBAL dev_long *)p)[i] : ((const GLOBAL int *)p)[i];
  if (at < 0) at += size;
  return at < 0 ? 0 : at >= size ? size - 1 : (int)at;
}
