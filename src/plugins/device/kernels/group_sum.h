/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/group_sum.h - tree reduction over the ROWS_ITEMS items of a group. |parts| is in local memory; the
 * result is in parts[0], and all items may read it afterwards. */
#define GROUP_HALVE(parts, combine, half)                            \
  FOR_ITEMS(u, ROWS_ITEMS) {                                         \
    if (u < (half)) parts[u] = combine(parts[u], parts[u + (half)]); \
  }                                                                  \
  BARRIER

#define GROUP_COMBINE(parts, combine) \
  BARRIER;                            \
  GROUP_HALVE(parts, combine, 64);    \
  GROUP_HALVE(parts, combine, 32);    \
  GROUP_HALVE(parts, combine, 16);    \
  GROUP_HALVE(parts, combine, 8);     \
  GROUP_HALVE(parts, combine, 4);     \
  GROUP_HALVE(parts, combine, 2);     \
  GROUP_HALVE(parts, combine, 1)

#define ADD_OF(a, b) ((a) + (b))
#define MUL_OF(a, b) ((a) * (b))
/* Maximum and minimum that propagate NaN. */
#define HIGHER_OF(a, b) ((a) > (b) || ISNAN(a) ? (a) : (b))
#define LOWER_OF(a, b) ((a) < (b) || ISNAN(a) ? (a) : (b))
