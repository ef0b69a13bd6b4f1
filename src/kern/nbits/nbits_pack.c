/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_pack.c - the table of variants, and packing of weights of few bits. */
#include <string.h>

#include "base/macros.h"
#include "kern/nbits/nbits.h"

static const ox_nbits_variant table[] = {
#define OX_NBITS(...) OX_NBITS_ROW(__VA_ARGS__),
#include "kern/nbits/nbits_variants.inc"
#undef OX_NBITS
};

const ox_nbits_variant *ox_nbits_select(ox_isa have) {
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if ((table[i].needs & ~have) == 0) return &table[i];
  return NULL;
}

void ox_nbits_pack(const ox_nbits_format *f, size_t lanes, size_t lane, const uint8_t *values, float scale, float zero,
                   uint8_t *record) {
  size_t vectors = f->block * f->bits / 32, quads = 8 / f->bits; /* quads of one vector */
  for (size_t v = 0; v < vectors; v++) {
    uint32_t x = 0;
    for (size_t i = 0; i < quads; i++)
      for (size_t b = 0; b < 4; b++) x |= (uint32_t)values[(v + i * vectors) * 4 + b] << (8 * b + i * f->bits);
    memcpy(record + (v * lanes + lane) * 4, &x, 4);
  }
  record += vectors * lanes * 4;
  memcpy(record + lane * 4, &scale, 4);
  record += lanes * 4;
  if (f->zero == OX_NBITS_BYTES) record[lane] = (uint8_t)zero;
  if (f->zero == OX_NBITS_FLOATS) memcpy(record + lane * 4, &zero, 4);
}
