/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/tile_amx.h - matrix tiles on AMX; the contract is in tile_emulated.h. A file needs the compiler flags of
 * the unit whose dot it uses. */
#ifndef OX_SIMD_TILE_AMX_H
#define OX_SIMD_TILE_AMX_H

#if OX_EMULATE_AMX
#include "kern/simd/tile_emulated.h"
#else
#include <immintrin.h>
#include <stdint.h>

#include "base/macros.h"

/* Palette 1: eight tiles of 16 rows of 64 bytes. It is static because the intrinsic's operand covers only its first
 * bytes, so that stores to a copy on the stack would be removed as dead. */
static const struct vt_config_ {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} vt_config_ = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

OX_INLINE void vt_begin(void) { _tile_loadconfig(&vt_config_); }
OX_INLINE void vt_end(void) { _tile_release(); }

#define VT_TILES (void)0
#define vt_zero(n) _tile_zero(n)
#define vt_load(n, p, stride) _tile_loadd(n, p, stride)
#define vt_store(n, p, stride) _tile_stored(n, p, stride)
#define vt_dot_bf16(c, a, b) _tile_dpbf16ps(c, a, b)
#define vt_dot_u8s8(c, a, b) _tile_dpbusd(c, a, b)
#endif

#endif
