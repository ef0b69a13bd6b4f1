/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_plain.c - picks the plain loops for an instruction set; what they lack has the C library. */
#include "kern/unary/unary.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_unary_plain, ox_unary_plain__, ox_unary_plain_select)

ox_unary_f64_fn *ox_unary_f64_select(ox_isa have, ox_unary op) {
  ox_unary_f64_fn *fn = ox_unary_plain_select(have)->f64[op];
  return fn ? fn : ox_unary_f64[op];
}

ox_unary_int_fn *ox_unary_int(ox_isa have, ox_unary op, unsigned bytes, int is_signed) {
  unsigned log2 = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return ox_unary_plain_select(have)->ints[op][is_signed != 0][log2];
}
