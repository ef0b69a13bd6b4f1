/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent_params.h - RNN, GRU and LSTM, read by the host and by kernels. */
#ifndef OX_DEVICE_RECURRENT_PARAMS_H
#define OX_DEVICE_RECURRENT_PARAMS_H

/* A group computes RECURRENT_UNITS hidden units for RECURRENT_ROWS rows of the batch. */
enum { RECURRENT_UNITS = 4, RECURRENT_ROWS = 4, RECURRENT_LANES = 64, RECURRENT_GATES = 4 };
/* The largest hidden size for which a group keeps all weights in registers (recurrent_rows.h). */
enum { RECURRENT_SMALL = 64 };
/* For quantized states: units of a group, and items that share a sum. */
enum { RECURRENT_BYTE_UNITS = 16, RECURRENT_BYTE_LANES = 16 };
enum { RECURRENT_RNN, RECURRENT_GRU, RECURRENT_LSTM };
enum {
  RECURRENT_TANH, RECURRENT_SIGMOID, RECURRENT_RELU, RECURRENT_AFFINE, RECURRENT_LEAKY, RECURRENT_THRESHOLDED,
  RECURRENT_SCALED_TANH, RECURRENT_HARD_SIGMOID, RECURRENT_ELU, RECURRENT_SOFTSIGN, RECURRENT_SOFTPLUS
};

/* What a launch computes: the whole step or, for a GRU that takes two launches, the gates z and r, then the candidate.
 */
enum { RECURRENT_WHOLE, RECURRENT_Z_R, RECURRENT_CANDIDATE };

typedef struct {
  int cell, phase, step;
  int seq, batch, hidden, dirs, gates;
  int input;                /* columns of X */
  int batch_first;          /* layout 1 */
  int backwards;            /* bit i: direction i */
  int has_bias, has_lens, has_peep, has_y, linear_before_reset, input_forget;
  int first_gate, end_gate; /* the range of gates that the launch computes */
  int has_h, has_c;         /* there are initial states, or (when copying out) outputs for the final ones */
  float clip;               /* 0: none */
  int act[2][3];
  float a[2][3], b[2][3];
} recurrent_params;

#endif
