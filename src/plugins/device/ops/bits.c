/* SPDX-License-Identifier: Apache-2.0
 * device/ops/bits.c - bitwise operators; see integers.c. */
#include "plugins/device/integers.h"

static const char *takes(const dev_node *n) {
  return dev_is_integer(dev_in_dtype(n, 0)) ? dev_integers_takes(n) : REASON("integers", "{0}");
}

static const char *const names[] = {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", NULL};
DEV_OP(bits) = {"", names, takes, dev_integers_emit};
