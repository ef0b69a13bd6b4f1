/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fill.h - filling with a constant, and Range of integers. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/fill_params.h"

FUNCTION dev_long two_halves(unsigned low, unsigned high) {
  return (dev_long)(((dev_ulong)high << 32) | (dev_ulong)low);
}

#define FILL_KERNEL(name, type)                            \
  KERNEL(name, fill_params) {                              \
    BUFFER(type, y, 0);                                    \
    PARAMS(fill_params, p);                                \
    FOR_ITEMS(t, 256) {                                    \
      int i = GROUP(0) * 256 + t;                          \
      if (i < p.n) y[i] = (type)two_halves(p.low, p.high); \
    }                                                      \
  }
FILL_KERNEL(fill1, unsigned char)
FILL_KERNEL(fill2, unsigned short)
FILL_KERNEL(fill4, unsigned)
FILL_KERNEL(fill8, dev_long)

/* Wraps around, as on the CPU. */
#define RANGE_KERNEL(name, type)                                                                                     \
  KERNEL(name, fill_params) {                                                                                        \
    BUFFER(type, y, 0);                                                                                              \
    PARAMS(fill_params, p);                                                                                          \
    FOR_ITEMS(t, 256) {                                                                                              \
      int i = GROUP(0) * 256 + t;                                                                                    \
      dev_ulong first = (dev_ulong)two_halves(p.low, p.high), step = (dev_ulong)two_halves(p.step_low, p.step_high); \
      if (i < p.n) y[i] = (type)(first + (dev_ulong)i * step);                                                       \
    }                                                                                                                \
  }
RANGE_KERNEL(range4, int)
RANGE_KERNEL(range8, dev_long)
