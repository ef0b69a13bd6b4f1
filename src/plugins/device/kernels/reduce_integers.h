/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/reduce_integers.h - sums, products and extremes of integers over any axes; sums and products wrap. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/reduce_place.h"

#define REDUCE_TWO_OF(type, bits)                        \
  FUNCTION type reduce_two_##type(int op, type a, type b) { \
    if (op == REDUCE_MAX) return a > b ? a : b;          \
    if (op == REDUCE_MIN) return a < b ? a : b;          \
    return op == REDUCE_PROD ? (type)((bits)a * (bits)b) : (type)((bits)a + (bits)b); \
  }
REDUCE_TWO_OF(int, unsigned)
REDUCE_TWO_OF(dev_long, dev_ulong)

/* |items|: an item for each output; |rows|: a group for each. */
#define REDUCE_KERNELS(items, rows, type, most)                                                                   \
  KERNEL(items, reduce_params) {                                                                                  \
    BUFFER(const type, x, 0);                                                                                     \
    BUFFER(type, y, 1);                                                                                           \
    PARAMS(reduce_params, p);                                                                                     \
    FOR_ITEMS(t, 256) {                                                                                           \
      int at = GROUP(0) * 256 + t;                                                                                \
      if (at < p.outputs) {                                                                                       \
        type v = REDUCE_START(p.op, most);                                                                        \
        int first = reduce_kept(&p, at);                                                                          \
        for (int i = 0; i < p.n; i++) v = reduce_two_##type(p.op, v, x[first + reduce_gone(&p, i)]);              \
        y[at] = v;                                                                                                \
      }                                                                                                           \
    }                                                                                                             \
  }                                                                                                               \
  KERNEL(rows, reduce_params) {                                                                                   \
    BUFFER(const type, x, 0);                                                                                     \
    BUFFER(type, y, 1);                                                                                           \
    PARAMS(reduce_params, p);                                                                                     \
    LOCAL(type, parts, [ROWS_ITEMS]);                                                                             \
    int first = reduce_kept(&p, GROUP(0));                                                                        \
    FOR_ITEMS(t, ROWS_ITEMS) {                                                                                    \
      type v = REDUCE_START(p.op, most);                                                                          \
      for (int i = t; i < p.n; i += ROWS_ITEMS) v = reduce_two_##type(p.op, v, x[first + reduce_gone(&p, i)]);    \
      parts[t] = v;                                                                                               \
    }                                                                                                             \
    GROUP_COMBINE(parts, REDUCE_PAIR_##type);                                                                     \
    FOR_ITEMS(t, ROWS_ITEMS) {                                                                                    \
      if (t == 0) y[GROUP(0)] = parts[0];                                                                         \
    }                                                                                                             \
  }
#define REDUCE_START(op, most) \
  ((op) == REDUCE_MAX ? -(most)-1 : (op) == REDUCE_MIN ? (most) : (op) == REDUCE_PROD ? 1 : 0)
#define REDUCE_PAIR_int(a, b) reduce_two_int(p.op, a, b)
#define REDUCE_PAIR_dev_long(a, b) reduce_two_dev_long(p.op, a, b)
REDUCE_KERNELS(reduce_items_int, reduce_rows_int, int, 0x7fffffff)
REDUCE_KERNELS(reduce_items_long, reduce_rows_long, dev_long, (dev_long)0x7fffffffffffffff)
