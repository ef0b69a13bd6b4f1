/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn_avx2.c - recurrent cells on this instruction set. */
#include "kern/simd/f32_avx2.h"

#include "kern/rnn/rnn.h"

#define RNN_NAME(x) ox_rnn_##x##__avx2
#include "kern/rnn/rnn_body.h"
