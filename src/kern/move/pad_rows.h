/* SPDX-License-Identifier: Apache-2.0
 * kern/move/pad_rows.h - a window onto a tensor that may be larger (padding) or smaller (cropping) on each axis. */
#ifndef OX_KERN_MOVE_PAD_ROWS_H
#define OX_KERN_MOVE_PAD_ROWS_H

#include "kern/move/move.h"

typedef enum ox_pad_mode { OX_PAD_CONSTANT, OX_PAD_REFLECT, OX_PAD_EDGE, OX_PAD_WRAP } ox_pad_mode;

/* Output index o of an axis is input index o - begin. Units are pieces of rows along the last axis left. */
typedef struct ox_pad {
  int64_t units, total_bytes;
  int rank; /* at least 1 */
  ox_pad_mode mode;
  int64_t elem, block; /* bytes of an element; bytes moved per index of the last axis */
  int64_t pieces, piece;
  int64_t in[16], out[16], begin[16], stride[16]; /* strides of the input in bytes */
} ox_pad;

/* Merges axes that are not padded. |rank| up to 16. */
void ox_pad_init(ox_pad *p, ox_pad_mode mode, int64_t elem, int rank, const int64_t *in, const int64_t *out,
                 const int64_t *begin);
/* |value|: one element. */
void ox_pad_run(const ox_pad *p, const void *in, const void *value, void *out, int64_t unit_begin, int64_t unit_end);
/* The input index that output index |o| shows, or -1 for the constant. |dim| > 0 unless the mode is constant. */
int64_t ox_pad_source(ox_pad_mode mode, int64_t o, int64_t begin, int64_t dim);
/* Packed elements of |bits|; all of it, one by one. Fills the last byte up with zeros. */
void ox_pad_sub_byte(const ox_pad *p, unsigned bits, const void *in, unsigned value, void *out);

#endif
