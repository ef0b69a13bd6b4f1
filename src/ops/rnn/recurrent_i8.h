/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_i8.h - products of recurrent cells in 8 bits, with weights that are bytes (DynamicQuantizeLSTM): X
 * is quantized once, the states at every step, as DynamicQuantizeLinear does it; sums are exact. A NaN has no byte: it
 * is the least value. */
#ifndef OX_OPS_RNN_RECURRENT_I8_H
#define OX_OPS_RNN_RECURRENT_I8_H

#include "kern/gemm/gemm_i8.h"
#include "ops/rnn/recurrent.h"

/* More inputs of DynamicQuantizeLSTM: of W and R, a scale and a zero point for each direction or each column. */
enum { IN_W_SCALE = IN_P + 1, IN_W_ZERO, IN_R_SCALE, IN_R_ZERO, RECURRENT_I8_IN };

typedef struct recurrent_i8 {
  const ox_gemm_i8_variant *v; /* NULL: the weights are floats */
  ox_gemm_i8_plan project, step;
  size_t parts;                    /* at most, which share a step's product: each has scratch of its own */
  size_t at_x, at_scale[2], bytes; /* in its shared memory: X in bytes; scales of W, of R */
} recurrent_i8;

/* A matrix in bytes: x = (data - zero) scale. */
typedef struct recurrent_bytes {
  float scale;
  uint8_t zero;
  uint8_t *data;
} recurrent_bytes;

/* W and R are bytes, [dirs, k, gates hidden]; *r becomes the shape that LSTM has for such an R. */
bool recurrent_is_i8(const ox_kernel_ctx *c, ox_shape *r);
/* Sizes for steps of |rows| rows, at most; false: they are too large. */
bool recurrent_i8_plan(const ox_kernel_ctx *c, const recurrent_dims *d, size_t rows, bool alone, recurrent_i8 *q);

/* As their namesakes in recurrent.h. */
size_t recurrent_i8_weights_at(const recurrent_i8 *q, const recurrent_dims *d, bool peep, void *base,
                               recurrent_weights *out);
void recurrent_i8_pack(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                       const recurrent_weights *to);
OX_NODISCARD ox_status *recurrent_i8_pack_const(ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d,
                                                const void **out_base);

/* Quantizes X up to the longest sequence, and brings the scales, into |shared|. */
OX_NODISCARD ox_status *recurrent_i8_ready(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d,
                                           void *shared);
/* A tile of the product of X and W. */
void recurrent_i8_project(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                          const recurrent_weights *w, const void *shared, float *to, size_t tile, void *scratch);

/* The state's rows into to->data; the range is that of the rows which the step before was not beyond the end of. */
void recurrent_i8_state(const ox_kernel_ctx *c, const ox_rnn_step *s, recurrent_bytes *to);
/* The product of the state and R, plus |x|, plus the bias. |out| is part of what is returned. */
ox_gemm_i8_io recurrent_i8_step(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                                const recurrent_weights *w, const void *shared, const recurrent_bytes *h,
                                const ox_gemm_term *x, ox_gemm_i8_out *out);

#endif
