/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn_scalar.c - recurrent cells on this instruction set. */
#include "kern/simd/f32_scalar.h"

#include "kern/rnn/rnn.h"

#define RNN_NAME(x) ox_rnn_##x##__scalar
#include "kern/rnn/rnn_body.h"
