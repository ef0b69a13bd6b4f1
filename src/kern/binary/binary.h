/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary.h - element-wise functions of two inputs over one run of elements. */
#ifndef OX_KERN_BINARY_BINARY_H
#define OX_KERN_BINARY_BINARY_H

#include <stddef.h>

#include "base/cpu.h"
#include "onyx/ep.h"

typedef enum ox_binary {
  OX_BIN_ADD,
  OX_BIN_SUB,
  OX_BIN_MUL,
  OX_BIN_DIV,
  OX_BIN_MIN,
  OX_BIN_MAX,
  OX_BIN_PRELU,
  OX_BIN_MOD,  /* sign of the divisor */
  OX_BIN_FMOD, /* sign of the dividend */
  OX_BIN_POW,  /* floats only */
  OX_BIN_AND,
  OX_BIN_OR,
  OX_BIN_XOR,
  OX_BIN_SHL,
  OX_BIN_SHR, /* integers; on bool the first three are logical */
  OX_BIN_EQ,
  OX_BIN_LT,
  OX_BIN_GT,
  OX_BIN_LE,
  OX_BIN_GE, /* into bool */
  OX_BIN_COUNT
} ox_binary;

/* Which operand is a scalar: its first element goes with all of the other. */
enum { OX_BIN_A_SCALAR = 1, OX_BIN_B_SCALAR = 2 };

/* y[i] = a[i] op b[i]. y may be a or b where it has their element size. Total: integer arithmetic wraps, division by
 * zero gives 0, MIN / -1 wraps, shifts by the width or more shift everything out, min and max pass NaN on. */
typedef void ox_binary_fn(const void *a, const void *b, void *y, size_t n, unsigned scalar);

/* y = c ? a : b; step_a, step_b: 0 for a scalar, else 1 */
typedef void ox_choose_fn(const uint8_t *c, const void *a, const void *b, void *y, size_t n, int step_a, int step_b);

typedef struct ox_binary_table {
  ox_isa needs;
  const char *name;
  ox_binary_fn *fn[OX_BIN_COUNT][OX_DTYPE_COUNT]; /* NULL: not defined. 16-bit floats: widen first */
  ox_choose_fn *choose[4];                        /* elements of 1, 2, 4, 8 bytes */
} ox_binary_table;

const ox_binary_table *ox_binary_select(ox_isa have);

/* y = c ? a : b, |size| bytes an element (1, 2, 4, 8, 16); steps are 0 or 1. */
void ox_choose(const ox_binary_table *t, const uint8_t *c, const void *a, const void *b, void *y, size_t size, size_t n,
               int step_c, int step_a, int step_b);

#endif
