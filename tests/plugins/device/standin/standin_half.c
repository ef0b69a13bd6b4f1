/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_half.c - 16-bit floats for kernels in plain C. */
#include <math.h>
#include <stdint.h>
#include <string.h>

float dev_from_half(unsigned short h);
unsigned short dev_to_half(float f);

float dev_from_half(unsigned short h) {
  int exponent = h >> 10 & 31;
  float mantissa = (float)(h & 1023), v;
  if (exponent == 31)
    v = h & 1023 ? NAN : INFINITY;
  else
    v = exponent ? ldexpf(mantissa + 1024, exponent - 25) : ldexpf(mantissa, -24);
  return h >> 15 ? -v : v;
}

/* To the nearest, ties to even: the number of steps of the result's size is rounded as rintf does. */
unsigned short dev_to_half(float f) {
  unsigned sign = signbit(f) ? 0x8000 : 0;
  float v = fabsf(f);
  int exponent;
  if (v == 0) return (unsigned short)sign;
  if (isnan(v)) return (unsigned short)(sign | 0x7e00);
  if (v >= 65520.0f) return (unsigned short)(sign | 0x7c00);
  frexpf(v, &exponent);
  if (exponent < -13 || v == 0) exponent = -13;               /* denormals have the steps of the smallest exponent */
  unsigned steps = (unsigned)rintf(ldexpf(v, 11 - exponent)); /* 1024 to 2048, or fewer */
  return (unsigned short)(sign | (steps + ((unsigned)(exponent + 13) << 10)));
}
