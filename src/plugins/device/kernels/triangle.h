/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/triangle.h - Trilu and OneHot. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/select_params.h"

#define TRIANGLE_KERNEL(name, type)                                                     \
  KERNEL(name, triangle_params) {                                                       \
    BUFFER(const type, x, 0);                                                           \
    BUFFER(type, y, 1);                                                                 \
    PARAMS(triangle_params, p);                                                         \
    FOR_ITEMS(t, 256) {                                                                 \
      int i = GROUP(0) * 256 + t;                                                       \
      if (i < p.n) {                                                                    \
        int above = i % p.columns - i / p.columns % p.rows;                             \
        y[i] = (p.upper ? above >= p.k : above <= p.k) ? x[i] : (type)0;                \
      }                                                                                 \
    }                                                                                   \
  }
TRIANGLE_KERNEL(triangle1, unsigned char)
TRIANGLE_KERNEL(triangle2, unsigned short)
TRIANGLE_KERNEL(triangle4, unsigned)
TRIANGLE_KERNEL(triangle8, dev_long)

#define ONE_HOT_KERNEL(name, type)                                                                               \
  KERNEL(name, one_hot_params) {                                                                                 \
    BUFFER(const char, index, 0);                                                                                \
    BUFFER(const type, values, 1);                                                                               \
    BUFFER(type, y, 2);                                                                                          \
    PARAMS(one_hot_params, p);                                                                                   \
    FOR_ITEMS(t, 256) {                                                                                          \
      int i = GROUP(0) * 256 + t;                                                                                \
      if (i < p.n) {                                                                                             \
        int at = i / p.inner / p.depth * p.inner + i % p.inner;                                                  \
        dev_long hot = p.wide ? ((const GLOBAL dev_long *)index)[at] : ((const GLOBAL int *)index)[at];          \
        if (hot < 0) hot += p.depth;                                                                             \
        y[i] = values[hot == i / p.inner % p.depth];                                                             \
      }                                                                                                          \
    }                                                                                                            \
  }
ONE_HOT_KERNEL(one_hot1, unsigned char)
ONE_HOT_KERNEL(one_hot2, unsigned short)
ONE_HOT_KERNEL(one_hot4, unsigned)
ONE_HOT_KERNEL(one_hot8, dev_long)
