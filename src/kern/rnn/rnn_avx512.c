/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn_avx512.c - recurrent cells on this instruction set. */
#include "kern/simd/f32_avx512.h"

#include "kern/rnn/rnn.h"

#define RNN_NAME(x) ox_rnn_##x##__avx512
#include "kern/rnn/rnn_body.h"
