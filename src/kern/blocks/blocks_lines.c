/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_lines.c - packs rows of filters to lanes, with the transposition of planes to blocks. */
#include <string.h>

#include "kern/blocks/blocks.h"

enum {
  PIECE = 4 * OX_BLOCK /* columns at a time, where they go through a buffer: rows or lines are not as v->to needs */
};

void ox_blocks_lines(const ox_blocks_variant *v, float *to, size_t line, const ox_f32u *from, size_t step, size_t rows,
                     size_t n) {
  bool aligned = (uintptr_t)from % sizeof(float) == 0;
  float row[OX_BLOCK * PIECE], lines[PIECE * OX_BLOCK];
  if (aligned && line == OX_BLOCK) {
    v->to(to, (const float *)from, step, rows, n);
    return;
  }
  for (size_t at = 0; at < n; at += PIECE) {
    size_t some = OX_MIN(n - at, (size_t)PIECE);
    for (size_t r = 0; !aligned && r < rows; r++) memcpy(row + r * PIECE, from + r * step + at, some * sizeof *row);
    v->to(lines, aligned ? (const float *)from + at : row, aligned ? step : PIECE, rows, some);
    for (size_t i = 0; i < some; i++) memcpy(to + (at + i) * line, lines + i * OX_BLOCK, OX_BLOCK * sizeof *to);
  }
}
