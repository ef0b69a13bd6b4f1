/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops.h - loops of our own. Quantization, dequantization and quantized addition use exactly the
 * operations of the CPU provider, so that ties round alike: the library multiplies by the inverse of a scale where ONNX
 * divides, and adds the zero point before it rounds. And erf, which the library has only as part of GELU. */
#ifndef OD_LOOPS_H
#define OD_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* Quantization parameters: (q - zero) * scale, where q is int8 or uint8. */
typedef struct od_grid {
  float scale;
  int32_t zero;
  bool is_signed;
} od_grid;

/* The parameters of a loop. An 8-bit result is clamped to [low, high]. */
typedef struct od_loops_job {
  od_grid x[2], y;
  int32_t low, high;
} od_loops_job;

typedef struct od_loops_table {
  ox_isa needs;
  void (*quantize)(const od_loops_job *j, const float *x, uint8_t *y, size_t n); /* by j->y */
  void (*dequantize)(const od_loops_job *j, const uint8_t *x, float *y, size_t n);
  void (*add)(const od_loops_job *j, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n); /* j->x[0], x[1], y */
  void (*erf)(const float *x, float *y, size_t n);
} od_loops_table;

const od_loops_table *od_loops_select(ox_isa have);

#endif
