/* SPDX-License-Identifier: Apache-2.0
 * gemm/gemm_i8_amxint8.c - the 8-bit 32 x 32 microkernel on AMX: four tiles of sums, two of A, two of B. A tile of B is
 * 16 quads of k by 16 columns, which is how every variant's panels lie. */
#include "kern/simd/i8_avx512vnni.h"

#include "kern/gemm/gemm_i8.h"
#include "kern/gemm/gemm_i8_store.h"

enum { NR = 32 };

/* Palette 1: eight tiles of 16 rows of 64 bytes. In memory, not on the stack: the intrinsic tells the compiler of its
 * first bytes only, and stores of the others would be dropped as dead. */
static const struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} config = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

void ox_gemm_i8_begin__amxint8(void) { _tile_loadconfig(&config); }

void ox_gemm_i8_end__amxint8(void) { _tile_release(); }

/* Tile registers: 0 to 3 the sums, 4 and 5 of A, 6 and 7 of B. The intrinsics want literal numbers. The rows of A past
 * m are read too: the driver's scratch has them. */
void ox_gemm_i8_32x32__amxint8(const ox_gemm_i8_tile *t) {
  _Alignas(64) int32_t sums[32 * NR];
  const int8_t *b = t->b;
  const uint8_t *a0 = t->a, *a1 = t->a + 16 * t->a_rs;
  bool two = t->m > 16;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t q = 0; q < t->quads; q += 16, b += 16 * NR * 4) {
    _tile_loadd(6, b, NR * 4);
    _tile_loadd(7, b + 64, NR * 4);
    _tile_loadd(4, a0 + 4 * q, t->a_rs);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (!two) continue;
    _tile_loadd(5, a1 + 4 * q, t->a_rs);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_stored(0, sums, NR * 4);
  _tile_stored(1, sums + 16, NR * 4);
  _tile_stored(2, sums + 16 * NR, NR * 4);
  _tile_stored(3, sums + 16 * NR + 16, NR * 4);
  ox_gemm_i8_store(t, sums, NR);
}
