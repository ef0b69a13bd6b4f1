/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pad.h - Pad in all its modes. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"

/* The source index of |i| on an axis of |n| elements; -1: none. */
FUNCTION int pad_place(int mode, int i, int n) {
  if (i >= 0 && i < n) return i;
  if (mode == PAD_CONSTANT) return -1;
  if (mode == PAD_EDGE) return i < 0 ? 0 : n - 1;
  if (mode == PAD_WRAP) return (i % n + n) % n;
  if (n == 1) return 0;
  i = i < 0 ? -i : i; /* reflect: a triangle wave */
  i %= 2 * (n - 1);
  return i < n ? i : 2 * (n - 1) - i;
}

#define PAD_KERNEL(name, type, value)                                                    \
  KERNEL(name, pad_params) {                                                             \
    BUFFER(const type, x, 0);                                                            \
    BUFFER(type, y, 1);                                                                  \
    PARAMS(pad_params, p);                                                               \
    FOR_ITEMS(t, 256) {                                                                  \
      int at = GROUP(0) * 256 + t, i = at, from = 0, inside = 1;                         \
      if (at < p.n) {                                                                    \
        for (int d = MOVE_DIMS - 1; d >= 0; d--) {                                       \
          int place = pad_place(p.mode, i % p.size[d] - p.before[d], p.in[d]);           \
          i /= p.size[d], from += place * p.in_stride[d], inside = inside && place >= 0; \
        }                                                                                \
        y[at] = inside ? x[from] : (type)(value);                                        \
      }                                                                                  \
    }                                                                                    \
  }
PAD_KERNEL(pad1, unsigned char, p.low)
PAD_KERNEL(pad2, unsigned short, p.low)
PAD_KERNEL(pad4, unsigned, p.low)
PAD_KERNEL(pad8, dev_long, (dev_long)(unsigned)p.low | (dev_long)p.high * 4294967296)
