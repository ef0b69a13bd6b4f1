/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops.h - what the plug-in computes itself. 8-bit integers to and from numbers, and sums of two of
 * them, in the very operations of the CPU provider, so that no tie is rounded another way: the library multiplies by
 * the inverse of a scale where ONNX divides, and adds a zero before it rounds. And erf, which it has in GELU alone. */
#ifndef OD_LOOPS_H
#define OD_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* (q - zero) * scale; q is int8 or uint8. */
typedef struct od_grid {
  float scale;
  int32_t zero;
  bool is_signed;
} od_grid;

/* What a step of ours does with n elements. The result is kept between |low| and |high|. */
typedef struct od_loops_job {
  od_grid x[2], y;
  int32_t low, high;
} od_loops_job;

typedef struct od_loops_table {
  ox_isa needs;
  void (*quantize)(const od_loops_job *j, const float *x, uint8_t *y, size_t n); /* numbers to y */
  void (*dequantize)(const od_loops_job *j, const uint8_t *x, float *y, size_t n);
  void (*add)(const od_loops_job *j, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n); /* x[0] + x[1] to y */
  void (*erf)(const float *x, float *y, size_t n);
} od_loops_table;

const od_loops_table *od_loops_select(ox_isa have);

#endif
