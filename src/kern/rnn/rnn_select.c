/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn_select.c - the table of recurrent cells, read from the one list. */
#include "base/macros.h"
#include "kern/rnn/rnn.h"

static const ox_rnn_variant table[] = {
#define OX_RNN(needs, isa) \
  {needs, ox_rnn_simple__##isa, ox_rnn_lstm__##isa, ox_rnn_gru_gates__##isa, ox_rnn_gru_out__##isa},
#include "kern/rnn/rnn_variants.inc"
#undef OX_RNN
};

const ox_rnn_variant *ox_rnn_select(ox_isa have) {
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if ((table[i].needs & ~have) == 0) return &table[i];
  return NULL;
}
