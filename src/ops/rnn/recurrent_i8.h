/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_i8.h - 8-bit products of recurrent cells with weights in bytes (DynamicQuantizeLSTM): X is
 * quantized once, the states at every step, as by DynamicQuantizeLinear; sums are exact. NaN becomes the smallest
 * value. */
#ifndef OX_OPS_RNN_RECURRENT_I8_H
#define OX_OPS_RNN_RECURRENT_I8_H

#include "kern/gemm/gemm_i8.h"
#include "ops/rnn/recurrent.h"

/* Additional inputs of DynamicQuantizeLSTM: scales and zero points of W and R, one per direction or one per column. */
enum { IN_W_SCALE = IN_P + 1, IN_W_ZERO, IN_R_SCALE, IN_R_ZERO, RECURRENT_I8_IN };

typedef struct recurrent_i8 {
  const ox_gemm_i8_variant *v; /* NULL: the weights are floats */
  ox_gemm_i8_plan project, step;
  size_t parts;                    /* most parts into which a step's product is divided, each with its own scratch */
  size_t at_x, at_scale[2], bytes; /* offsets in its shared memory: X in bytes; scales of W, of R */
} recurrent_i8;

/* A quantized matrix: x = (data - zero) * scale. */
typedef struct recurrent_bytes {
  float scale;
  uint8_t zero;
  uint8_t *data;
} recurrent_bytes;

/* Are W and R bytes, [dirs, k, gates * hidden]? |*r| is then set to the shape of R as LSTM has it. */
bool recurrent_is_i8(const ox_kernel_ctx *c, ox_shape *r);
/* Plans for steps of at most |rows| rows; false: too large. */
bool recurrent_i8_plan(const ox_kernel_ctx *c, const recurrent_dims *d, size_t rows, bool alone, recurrent_i8 *q);

/* As the functions of the same names in recurrent.h. */
size_t recurrent_i8_weights_at(const recurrent_i8 *q, const recurrent_dims *d, bool peep, void *base,
                               recurrent_weights *out);
void recurrent_i8_pack(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                       const recurrent_weights *to);
OX_NODISCARD ox_status *recurrent_i8_pack_const(ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d,
                                                const void **out_base);

/* Writes the scales, and X quantized up to the longest sequence, to |shared|. */
OX_NODISCARD ox_status *recurrent_i8_ready(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d,
                                           void *shared);
/* A tile of the product of X and W. */
void recurrent_i8_project(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                          const recurrent_weights *w, const void *shared, float *to, size_t tile, void *scratch);

/* Quantizes the state's rows into to->data. The range covers the rows whose sequence had not ended before the previous
 * step. */
void recurrent_i8_state(const ox_kernel_ctx *c, const ox_rnn_step *s, recurrent_bytes *to);
/* Describes the product of the state and R, plus |x|, plus the bias. The result refers to |out|. */
ox_gemm_i8_io recurrent_i8_step(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                                const recurrent_weights *w, const void *shared, const recurrent_bytes *h,
                                const ox_gemm_term *x, ox_gemm_i8_out *out);

#endif
