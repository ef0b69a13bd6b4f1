/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/integers.h - element-wise operators on integers, which wrap around. Operators of one operand are
 * called with it as both. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/integers_params.h"

FUNCTION int integers_place(const int *size, const int *stride, int i) {
  int at = 0;
  for (int d = MOVE_DIMS - 1; d >= 0; d--) at += i % size[d] * stride[d], i /= size[d];
  return at;
}

/* |bits|: an unsigned type at least as wide, for arithmetic without overflow; MIN / -1 wraps. */
#define INTEGERS_FUNCTION(name, type, bits, is_signed)                                                      \
  FUNCTION type name##_of(int op, type u, type v) {                                                         \
    int minus = (is_signed) && v == (type)-1;                                                               \
    switch (op) {                                                                                           \
      case INTEGERS_ADD: return (type)((bits)u + (bits)v);                                                  \
      case INTEGERS_SUB: return (type)((bits)u - (bits)v);                                                  \
      case INTEGERS_MUL: return (type)((bits)u * (bits)v);                                                  \
      case INTEGERS_MIN: return v < u ? v : u;                                                              \
      case INTEGERS_MAX: return v > u ? v : u;                                                              \
      case INTEGERS_ABS: return u > 0 ? u : (type)((bits)0 - (bits)u);                                      \
      case INTEGERS_NEG: return (type)((bits)0 - (bits)u);                                                  \
      case INTEGERS_SIGN: return (type)(u > 0 ? 1 : u == 0 ? 0 : -1);                                       \
      case INTEGERS_DIV: return (type)(v == 0 ? 0 : minus ? (type)((bits)0 - (bits)u) : (type)(u / v));     \
      case INTEGERS_FMOD: return (type)(v == 0 || minus ? 0 : u % v);                                       \
      case INTEGERS_MOD: {                                                                                  \
        type r = (type)(v == 0 || minus ? 0 : u % v);                                                       \
        return (type)(r != 0 && (r < 1) != (v < 1) ? r + v : r); /* neither is 0: below 1 is below 0 */     \
      }                                                                                                     \
      case INTEGERS_AND: return (type)(u & v);                                                              \
      case INTEGERS_OR: return (type)(u | v);                                                               \
      case INTEGERS_XOR: return (type)(u ^ v);                                                              \
      case INTEGERS_NOT: return (type)~u;                                                                   \
      case INTEGERS_LEFT: return (type)((bits)v < sizeof(type) * 8 ? (bits)u << (int)v : 0);                \
      case INTEGERS_RIGHT: return (type)((bits)v < sizeof(type) * 8 ? u >> (int)v : 0);                     \
    }                                                                                                       \
    return u;                                                                                               \
  }

#define INTEGERS_KERNEL(name, type, bits, is_signed)             \
  INTEGERS_FUNCTION(name, type, bits, is_signed)                 \
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
        y[i] = name##_of(p.op, u, v);                            \
      }                                                          \
    }                                                            \
  }
INTEGERS_KERNEL(integers_u8, unsigned char, unsigned, 0)
INTEGERS_KERNEL(integers_i8, signed char, unsigned, 1)
INTEGERS_KERNEL(integers_u16, unsigned short, unsigned, 0)
INTEGERS_KERNEL(integers_i16, short, unsigned, 1)
INTEGERS_KERNEL(integers_u32, unsigned, unsigned, 0)
INTEGERS_KERNEL(integers_i32, int, unsigned, 1)
INTEGERS_KERNEL(integers_u64, dev_ulong, dev_ulong, 0)
INTEGERS_KERNEL(integers_i64, dev_long, dev_ulong, 1)
