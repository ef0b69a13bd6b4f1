/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/index.h - an index of 32 or 64 bits out of a buffer, counted from the end if it is negative. Nothing
 * is read or written outside of an axis: what points there is taken for its nearest end. */
FUNCTION int index_at(const GLOBAL char *p, int wide, int i, int size) {
  dev_long at = wide ? ((const GLOBAL dev_long *)p)[i] : ((const GLOBAL int *)p)[i];
  if (at < 0) at += size;
  return at < 0 ? 0 : at >= size ? size - 1 : (int)at;
}
