/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/cast.h - numbers of one type to another. Types are ox_dtype's numbers. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"

KERNEL(cast, cast_params) {
  BUFFER(const char, x, 0);
  BUFFER(char, y, 1);
  PARAMS(cast_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int real = p.from == 1 || p.from == 10;
      float f = 0.0f;
      dev_long n = 0;
      switch (p.from) {
        case 1:
          f = ((const GLOBAL float *)x)[i];
          break;
        case 10:
          f = HALF_TO_FLOAT((const GLOBAL unsigned short *)x, i);
          break;
        case 2:
        case 9:
          n = ((const GLOBAL unsigned char *)x)[i];
          break;
        case 3:
          n = ((const GLOBAL signed char *)x)[i];
          break;
        case 6:
          n = ((const GLOBAL int *)x)[i];
          break;
        case 7:
          n = ((const GLOBAL dev_long *)x)[i];
          break;
      }
      int truth = real ? f != 0.0f : n != 0;
      if (!real) f = (float)n;
      if (real && p.to != 1 && p.to != 10 && p.to != 9) n = (dev_long)f;
      switch (p.to) {
        case 1:
          ((GLOBAL float *)y)[i] = f;
          break;
        case 10:
          FLOAT_TO_HALF((GLOBAL unsigned short *)y, i, f);
          break;
        case 2:
          ((GLOBAL unsigned char *)y)[i] = (unsigned char)n;
          break;
        case 3:
          ((GLOBAL signed char *)y)[i] = (signed char)n;
          break;
        case 6:
          ((GLOBAL int *)y)[i] = (int)n;
          break;
        case 7:
          ((GLOBAL dev_long *)y)[i] = n;
          break;
        case 9:
          ((GLOBAL unsigned char *)y)[i] = (unsigned char)truth;
          break;
      }
    }
  }
}
