/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent.h - shared by RNN, GRU and LSTM: attributes, sizes, packed weights, and the two ways to run them.
 */
#ifndef OX_OPS_RNN_RECURRENT_H
#define OX_OPS_RNN_RECURRENT_H

#include "graph/op_def.h"
#include "kern/gemm/gemm.h"
#include "kern/rnn/rnn.h"

typedef struct recurrent_attrs {
  ox_strs activations;
  ox_floats activation_alpha, activation_beta;
  float clip;
  bool has_clip;
  const char *direction;
  int64_t hidden_size, input_forget, layout, linear_before_reset;
} recurrent_attrs;
/* Rows of the attributes common to all of them. */
#define RECURRENT_ATTR_ROWS                                                                          \
  OX_ATTR_STRS(recurrent_attrs, activations), OX_ATTR_FLOATS(recurrent_attrs, activation_alpha),     \
      OX_ATTR_FLOATS(recurrent_attrs, activation_beta), OX_ATTR_FLOAT_HAS(recurrent_attrs, clip, 0), \
      OX_ATTR_STR(recurrent_attrs, direction, "forward"),                                            \
      OX_ATTR_INT_IN(recurrent_attrs, hidden_size, 0, 0, OX_COUNT_MAX), OX_ATTR_INT(recurrent_attrs, input_forget, 0)

enum { CELL_RNN, CELL_GRU, CELL_LSTM }; /* kinds of cells */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENS, IN_H, IN_C, IN_P };

/* Sizes and settings that follow from attributes and shapes. */
typedef struct recurrent_dims {
  int cell;
  size_t gates; /* 1, 3, 4 */
  size_t dirs, seq, batch, input, hidden;
  size_t first, second;        /* columns of the first and the second recurrent product */
  const ox_gemm_variant *v[3]; /* for the panels of W, and of R in either product; chosen by prepare */
  bool layout;                 /* batch first */
  ox_act act[2][3];
  float clip;
} recurrent_dims;

/* The packed float weights of one direction. */
typedef struct recurrent_weights {
  void *w, *r, *r2;  /* panels of [input, gates * hidden], [hidden, first], [hidden, second] */
  float *bias;       /* [gates * hidden], added to the input's product */
  float *reset_bias; /* [hidden], for a GRU with linear_before_reset */
  float *peep;       /* [3 * hidden], or NULL */
} recurrent_weights;
/* The kernel's state after load, if all weights are constant: prepare packs them. */
typedef struct recurrent_const {
  bool packs;
} recurrent_const;
int recurrent_cell(const char *op);
OX_NODISCARD ox_status *recurrent_activations(int cell, const recurrent_attrs *a, recurrent_dims *d);
OX_NODISCARD ox_status *recurrent_dims_of(int cell, const recurrent_attrs *a, const ox_shape *x, const ox_shape *r,
                                          recurrent_dims *d);
/* Bytes of the weights of one direction, and the pointers into |base|. */
size_t recurrent_weights_at(const recurrent_dims *d, bool peep, void *base, recurrent_weights *out);
/* Packs direction |dir| from W, R, B (or NULL), P (or NULL) of any float type but float64. |stop| may be NULL. */
void recurrent_pack(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                    const recurrent_weights *to, const ox_stop *stop);

/* The same in independent units of a direction. */
size_t recurrent_pack_units(const recurrent_dims *d, const ox_tensor *const in[4]);
void recurrent_pack_unit(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                         size_t unit, const recurrent_weights *to);
/* In prepare: packs the weights of all directions, one after the other, from constants that load has consumed. */
OX_NODISCARD ox_status *recurrent_pack_const(ox_kernel_ctx *c, const recurrent_dims *d, const void **out_base);

void recurrent_pack_biases(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                           const recurrent_weights *to);

/* Books stages and runs them; |state| of the context is a recurrent_const or NULL. W and R may be bytes
 * (recurrent_i8.h). */
OX_NODISCARD ox_status *recurrent_prepare(ox_kernel_ctx *c, int cell);
OX_NODISCARD ox_status *recurrent_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);

double recurrent_flops(const ox_kernel_ctx *c);

/* Double precision by plain loops; a tile is a direction. */
OX_NODISCARD ox_status *recurrent_run_f64(const ox_kernel_ctx *c, const recurrent_dims *d, size_t dir, double *scratch);
size_t recurrent_f64_scratch(const recurrent_dims *d);

/* Checks sequence lengths; NULL lens is fine. */
OX_NODISCARD ox_status *recurrent_lens(const ox_kernel_ctx *c, const recurrent_dims *d, const int32_t **out);
static inline const ox_tensor *recurrent_in(const ox_kernel_ctx *c, uint32_t i) {
  return i < c->n_in ? c->in[i] : NULL;
}
/* The row of time t and batch row b in X and in the projection. */
static inline size_t recurrent_row(const recurrent_dims *d, size_t t, size_t b) {
  return d->layout ? b * d->seq + t : t * d->batch + b;
}
/* Floats from one row of the projection, or of the gates, to the next: rows of both would share sets of L1 if they were
 * 2 KB apart or a multiple of it (two-way LSTM of 256, 10 rows: 10 % slower). */
static inline size_t recurrent_gates_rs(const recurrent_dims *d) {
  enum { CLOSE = 512, LINE = 16 };
  size_t n = d->gates * d->hidden;
  return n % CLOSE || !n ? n : n + LINE;
}
/* Element offsets in Y and in Y_h (also initial states). */
static inline size_t recurrent_y(const recurrent_dims *d, size_t t, size_t dir, size_t b) {
  return (d->layout ? (b * d->seq + t) * d->dirs + dir : (t * d->dirs + dir) * d->batch + b) * d->hidden;
}
static inline size_t recurrent_state(const recurrent_dims *d, size_t dir, size_t b) {
  return (d->layout ? b * d->dirs + dir : dir * d->batch + b) * d->hidden;
}
/* Does direction |dir| go backwards? */
bool recurrent_backwards(const recurrent_attrs *a, size_t dir);

#endif
