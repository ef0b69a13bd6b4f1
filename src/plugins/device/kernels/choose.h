/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/choose.h - Where, comparisons and logic, with operands that are broadcast. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"

FUNCTION int choose_place(const int *size, const int *stride, int i) {
  int at = 0;
  for (int d = MOVE_DIMS - 1; d >= 0; d--) at += i % size[d] * stride[d], i /= size[d];
  return at;
}

#define WHERE_KERNEL(name, type)                                                                                    \
  KERNEL(name, choose_params) {                                                                                     \
    BUFFER(const unsigned char, c, 0);                                                                              \
    BUFFER(const type, a, 1);                                                                                       \
    BUFFER(const type, b, 2);                                                                                       \
    BUFFER(type, y, 3);                                                                                             \
    PARAMS(choose_params, p);                                                                                       \
    FOR_ITEMS(t, 256) {                                                                                             \
      int i = GROUP(0) * 256 + t;                                                                                   \
      if (i < p.n)                                                                                                  \
        y[i] = c[choose_place(p.size, p.c, i)] ? a[choose_place(p.size, p.a, i)] : b[choose_place(p.size, p.b, i)]; \
    }                                                                                                               \
  }
WHERE_KERNEL(where1, unsigned char)
WHERE_KERNEL(where2, unsigned short)
WHERE_KERNEL(where4, unsigned)
WHERE_KERNEL(where8, dev_long)

#define COMPARE(op, a, b)                                       \
  ((op) == CHOOSE_EQUAL              ? (a) == (b)               \
   : (op) == CHOOSE_LESS             ? (a) < (b)                \
   : (op) == CHOOSE_LESS_OR_EQUAL    ? (a) <= (b)               \
   : (op) == CHOOSE_GREATER          ? (a) > (b)                \
   : (op) == CHOOSE_GREATER_OR_EQUAL ? (a) >= (b)               \
   : (op) == CHOOSE_AND              ? (a) != 0 && (b) != 0     \
   : (op) == CHOOSE_OR               ? (a) != 0 || (b) != 0     \
   : (op) == CHOOSE_XOR              ? ((a) != 0) != ((b) != 0) \
   : (op) == CHOOSE_NOT              ? (a) == 0                 \
   : (op) == CHOOSE_IS_INF           ? INFINITE(a)              \
   : (op) == CHOOSE_IS_PLUS_INF      ? INFINITE(a) && (a) > 0   \
   : (op) == CHOOSE_IS_MINUS_INF     ? INFINITE(a) && (a) < 0   \
   : (op) == CHOOSE_NEVER            ? 0                        \
                                     : (a) != (a))
#define INFINITE(a) ((a) == (a) && (a) - (a) != 0)
#define COMPARE_KERNEL(name, type, value, load)          \
  KERNEL(name, choose_params) {                          \
    BUFFER(const type, a, 0);                            \
    BUFFER(const type, b, 1);                            \
    BUFFER(unsigned char, y, 2);                         \
    PARAMS(choose_params, p);                            \
    FOR_ITEMS(t, 256) {                                  \
      int i = GROUP(0) * 256 + t;                        \
      if (i < p.n) {                                     \
        value u = load(a, choose_place(p.size, p.a, i)); \
        value v = load(b, choose_place(p.size, p.b, i)); \
        y[i] = (unsigned char)(COMPARE(p.op, u, v));     \
      }                                                  \
    }                                                    \
  }
#define PLAIN(p, i) ((p)[i])
COMPARE_KERNEL(compare_real, REAL, float, LOAD)
COMPARE_KERNEL(compare_byte, unsigned char, int, PLAIN)
COMPARE_KERNEL(compare_int, int, int, PLAIN)
COMPARE_KERNEL(compare_long, dev_long, dev_long, PLAIN)
