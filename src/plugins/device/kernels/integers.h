/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/integers.h - element-wise operators on integers, which wrap; those of one operand read it twice. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/integers_params.h"

FUNCTION int integers_place(const int *size, const int *stride, int i) {
  int at = 0;
  for (int d = MOVE_DIMS - 1; d >= 0; d--) at += i % size[d] * stride[d], i /= size[d];
  return at;
}

/* |bits|: the type without sign that is as wide, in which nothing overflows. */
#define INTEGERS_OF(op, u, v, type, bits)                                 \
  ((op) == INTEGERS_ADD   ? (type)((bits)(u) + (bits)(v))                 \
   : (op) == INTEGERS_SUB ? (type)((bits)(u) - (bits)(v))                 \
   : (op) == INTEGERS_MUL ? (type)((bits)(u) * (bits)(v))                 \
   : (op) == INTEGERS_MIN ? ((v) < (u) ? (v) : (u))                       \
   : (op) == INTEGERS_MAX ? ((v) > (u) ? (v) : (u))                       \
   : (op) == INTEGERS_ABS ? ((u) > 0 ? (u) : (type)((bits)0 - (bits)(u))) \
   : (op) == INTEGERS_NEG ? (type)((bits)0 - (bits)(u))                   \
                          : (type)((u) > 0    ? 1                         \
                                   : (u) == 0 ? 0                         \
                                              : -1))

#define INTEGERS_KERNEL(name, type, bits)                        \
  KERNEL(name, integers_params) {                                \
    BUFFER(const type, a, 0);                                    \
    BUFFER(const type, b, 1);                                    \
    BUFFER(type, y, 2);                                          \
    PARAMS(integers_params, p);                                  \
    FOR_ITEMS(t, 256) {                                          \
      int i = GROUP(0) * 256 + t;                                \
      if (i < p.n) {                                             \
        type u = a[p.flat ? i : integers_place(p.size, p.a, i)]; \
        type v = b[p.flat ? i : integers_place(p.size, p.b, i)]; \
        y[i] = INTEGERS_OF(p.op, u, v, type, bits);              \
      }                                                          \
    }                                                            \
  }
INTEGERS_KERNEL(integers_u8, unsigned char, unsigned)
INTEGERS_KERNEL(integers_i8, signed char, unsigned)
INTEGERS_KERNEL(integers_i32, int, unsigned)
INTEGERS_KERNEL(integers_i64, dev_long, dev_ulong)
