/* SPDX-License-Identifier: Apache-2.0
 * graph/dtype.c - one row per element type. */
#include "graph/dtype.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

static const struct {
  const char *name;
  uint8_t bits;
  bool is_float, is_signed;
} rows[OX_DTYPE_COUNT] = {
    [OX_UNDEFINED] = {"undefined", 0, false, false},
    [OX_F32] = {"float32", 32, true, true},
    [OX_U8] = {"uint8", 8, false, false},
    [OX_I8] = {"int8", 8, false, true},
    [OX_U16] = {"uint16", 16, false, false},
    [OX_I16] = {"int16", 16, false, true},
    [OX_I32] = {"int32", 32, false, true},
    [OX_I64] = {"int64", 64, false, true},
    [OX_STRING] = {"string", 8 * sizeof(ox_str), false, false},
    [OX_BOOL] = {"bool", 8, false, false},
    [OX_F16] = {"float16", 16, true, true},
    [OX_F64] = {"float64", 64, true, true},
    [OX_U32] = {"uint32", 32, false, false},
    [OX_U64] = {"uint64", 64, false, false},
    [OX_C64] = {"complex64", 64, false, true},
    [OX_C128] = {"complex128", 128, false, true},
    [OX_BF16] = {"bfloat16", 16, true, true},
    [OX_F8E4M3FN] = {"float8e4m3fn", 8, true, true},
    [OX_F8E4M3FNUZ] = {"float8e4m3fnuz", 8, true, true},
    [OX_F8E5M2] = {"float8e5m2", 8, true, true},
    [OX_F8E5M2FNUZ] = {"float8e5m2fnuz", 8, true, true},
    [OX_U4] = {"uint4", 4, false, false},
    [OX_I4] = {"int4", 4, false, true},
    [OX_F4E2M1] = {"float4e2m1", 4, true, true},
    [OX_F8E8M0] = {"float8e8m0", 8, true, false},
    [OX_U2] = {"uint2", 2, false, false},
    [OX_I2] = {"int2", 2, false, true},
    [OX_F6E2M3] = {"float6e2m3", 6, true, true},
    [OX_F6E3M2] = {"float6e3m2", 6, true, true},
};

const char *ox_dtype_name(uint32_t dtype) { return dtype < OX_DTYPE_COUNT ? rows[dtype].name : "undefined"; }

uint32_t ox_dtype_find(const char *name) {
  for (uint32_t i = 1; i < OX_DTYPE_COUNT; i++)
    if (strcmp(rows[i].name, name) == 0) return i;
  return OX_UNDEFINED;
}

const char *ox_kind_name(uint32_t kind) {
  static const char *const names[] = {[OX_TENSOR] = "tensor",
                                      [OX_SEQUENCE] = "sequence",
                                      [OX_MAP] = "map",
                                      [OX_NONE_VALUE] = "empty optional",
                                      [OX_SPARSE] = "sparse tensor"};
  return kind < OX_COUNT(names) ? names[kind] : "unknown";
}

unsigned ox_dtype_bits(uint32_t dtype) { return dtype < OX_DTYPE_COUNT ? rows[dtype].bits : 0; }
bool ox_dtype_is_float(uint32_t dtype) { return dtype < OX_DTYPE_COUNT && rows[dtype].is_float; }
bool ox_dtype_is_signed(uint32_t dtype) { return dtype < OX_DTYPE_COUNT && rows[dtype].is_signed; }

bool ox_dtype_bytes(uint32_t dtype, int64_t count, size_t *out_bytes) {
  unsigned bits = ox_dtype_bits(dtype);
  if (!bits || count < 0) return false;
  if (bits >= 8) return ox_mul_ok((size_t)count, bits / 8, out_bytes);
  /* count * bits / 8, rounded up, by whole groups of eight: no overflow */
  *out_bytes = (size_t)count / 8 * bits + ((size_t)count % 8 * bits + 7) / 8;
  return true;
}

/* ---- 16-bit floats: bit moves only, so the same on every machine ---- */

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

float ox_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff;
  if (exp == 31) return float_of(sign | 0x7f800000 | man << 13);
  if (exp) return float_of(sign | (exp + 112) << 23 | man << 13);
  float small = (float)man * 0x1p-24f; /* zero or subnormal: exact */
  return sign ? -small : small;
}

uint16_t ox_f16_from_f32(float f) {
  uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
  if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff)); /* NaN, quiet */
  if (mag >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                      /* rounds beyond 65504 */
  if (mag < 0x38800000) { /* below 2^-14: subnormal; adding 0.5 lines the last bit up with 2^-24 */
    uint32_t s = bits_of(float_of(mag) + 0.5f) - 0x3f000000;
    return (uint16_t)(sign | s);
  }
  uint32_t odd = mag >> 13 & 1;
  return (uint16_t)(sign | ((mag - 0x38000000 + 0xfff + odd) >> 13));
}

float ox_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

uint16_t ox_bf16_from_f32(float f) {
  uint32_t u = bits_of(f);
  if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
