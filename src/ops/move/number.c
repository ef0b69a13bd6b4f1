/* SPDX-License-Identifier: Apache-2.0
 * ops/move/number.c - reads and writes one element of any type. */
#include "ops/move/number.h"

#include <string.h>

#include "base/cksize.h"

double ox_number_at(const ox_tensor *t, int64_t i) {
  const char *p = (const char *)t->data + i * (int64_t)(ox_dtype_bits(t->dtype) / 8);
  float f;
  double d;
  switch (t->dtype) {
    case OX_F32:
      memcpy(&f, p, 4);
      return (double)f;
    case OX_F64:
      memcpy(&d, p, 8);
      return d;
    case OX_F16:
      return (double)ox_f16_to_f32(*(const ox_u16u *)p);
    case OX_BF16:
      return (double)ox_bf16_to_f32(*(const ox_u16u *)p);
    case OX_U64:
      return (double)(uint64_t) * (const ox_i64u *)p;
    default:
      return (double)ox_integer_at(t, i);
  }
}

int64_t ox_integer_at(const ox_tensor *t, int64_t i) {
  const char *p = (const char *)t->data + i * (int64_t)(ox_dtype_bits(t->dtype) / 8);
  switch (t->dtype) {
    case OX_I64:
    case OX_U64:
      return *(const ox_i64u *)p;
    case OX_I32:
      return *(const ox_i32u *)p;
    case OX_U32:
      return *(const ox_u32u *)p;
    case OX_I16:
      return (int16_t) * (const ox_u16u *)p;
    case OX_U16:
      return *(const ox_u16u *)p;
    case OX_I8:
      return *(const int8_t *)p;
    case OX_U8:
    case OX_BOOL:
      return *(const uint8_t *)p;
    case OX_F32:
    case OX_F64:
    case OX_F16:
    case OX_BF16:
      return ox_i64_of(ox_number_at(t, i));
    default:
      return 0;
  }
}

void ox_number_put(uint32_t dtype, void *data, int64_t i, double v) {
  switch (dtype) {
    case OX_F32:
      ((float *)data)[i] = (float)v;
      break;
    case OX_F64:
      ((double *)data)[i] = v;
      break;
    case OX_F16:
      ((uint16_t *)data)[i] = ox_f16_from_f32((float)v);
      break;
    case OX_BF16:
      ((uint16_t *)data)[i] = ox_bf16_from_f32((float)v);
      break;
    case OX_I64:
      ((int64_t *)data)[i] = ox_i64_of(v);
      break;
    case OX_U64:
      ((uint64_t *)data)[i] = ox_u64_of(v);
      break;
    case OX_I32:
      ((int32_t *)data)[i] = (int32_t)ox_i64_of(v);
      break;
    case OX_U32:
      ((uint32_t *)data)[i] = (uint32_t)ox_i64_of(v);
      break;
    case OX_I16:
      ((int16_t *)data)[i] = (int16_t)ox_i64_of(v);
      break;
    case OX_U16:
      ((uint16_t *)data)[i] = (uint16_t)ox_i64_of(v);
      break;
    case OX_I8:
      ((int8_t *)data)[i] = (int8_t)ox_i64_of(v);
      break;
    case OX_U8:
      ((uint8_t *)data)[i] = (uint8_t)ox_i64_of(v);
      break;
    default:
      break;
  }
}
