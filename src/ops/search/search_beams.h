/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_beams.h - selects the beams to continue, and keeps the best finished sequences of each batch
 * entry. */
#ifndef OX_OPS_SEARCH_SEARCH_BEAMS_H
#define OX_OPS_SEARCH_SEARCH_BEAMS_H

#include "ops/search/search_scores.h"

/* A finished sequence. */
typedef struct ox_hypothesis {
  int32_t *ids;
  int64_t length;
  float score; /* the sum of its tokens' log probabilities over length ^ length_penalty */
} ox_hypothesis;

typedef struct ox_candidate {
  float score;
  int64_t at; /* beam * words + token */
} ox_candidate;

typedef struct ox_beams {
  int64_t batch, width, words, eos;
  int32_t pad;
  float length_penalty;
  bool early_stopping;
  ox_hypothesis *best; /* |width| per batch entry, the best first; ids have |most| places */
  int64_t *n_best;
  bool *done;
  ox_candidate *top; /* 2 * width */
  /* of every row (batch * width): the sum of log probabilities, its next token, and the row that it continues */
  float *sum;
  int32_t *token;
  int64_t *from;
} ox_beams;

/* The settings of |b| are given. */
OX_NODISCARD ox_status *ox_beams_init(const ox_control_ctx *c, int64_t most, ox_beams *b);
/* Selects among |scores| (rows * words, sums of log probabilities): sets token, from and sum, and stores sequences that
 * end here. *done: all batch entries are finished. */
OX_NODISCARD ox_status *ox_beams_choose(ox_beams *b, const ox_sequences *s, const float *scores, bool *done);
/* Stores sequences that have not ended as if they had. */
void ox_beams_finish(ox_beams *b, const ox_sequences *s);

#endif
