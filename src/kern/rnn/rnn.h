/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn.h - the cells of recurrent networks after the matrix products: one time step of some batch rows. */
#ifndef OX_KERN_RNN_H
#define OX_KERN_RNN_H

#include "base/cpu.h"
#include "kern/act.h"

typedef struct ox_rnn_step {
  size_t rows, hidden;
  float *gates; /* rows x gates_rs: sums before activation; overwritten */
  size_t gates_rs;
  float *h, *c;      /* state, rows x hidden */
  const float *peep; /* LSTM: P of i, o, f; NULL: none */
  const float *x;    /* GRU, reset after the product: the input's share of the hidden gate, rows of x_rs */
  size_t x_rs;
  float *reset;  /* GRU: rows x hidden: reset gate x h, for the second product */
  ox_act act[3]; /* f, g, h */
  float clip;    /* bounds what goes into activations; +inf: no clip */
  bool input_forget, linear_before_reset;
  const int32_t *lens; /* per row: rows with step >= lens[row] keep their state; NULL: no row ends early */
  int64_t step;
} ox_rnn_step;

typedef void (*ox_rnn_fn)(const ox_rnn_step *s);

typedef struct ox_rnn_variant {
  ox_isa needs;
  ox_rnn_fn simple;    /* h = f(gates) */
  ox_rnn_fn lstm;      /* gates i, o, f, c */
  ox_rnn_fn gru_gates; /* gates z, r; fills reset unless linear_before_reset */
  ox_rnn_fn gru_out;   /* h from gates z, r and the second product, which is stored in place of the third gate */
} ox_rnn_variant;

#define OX_RNN(needs, isa)                            \
  void ox_rnn_simple__##isa(const ox_rnn_step *s);    \
  void ox_rnn_lstm__##isa(const ox_rnn_step *s);      \
  void ox_rnn_gru_gates__##isa(const ox_rnn_step *s); \
  void ox_rnn_gru_out__##isa(const ox_rnn_step *s);
#include "kern/rnn/rnn_variants.inc"
#undef OX_RNN

const ox_rnn_variant *ox_rnn_select(ox_isa have);

#endif
