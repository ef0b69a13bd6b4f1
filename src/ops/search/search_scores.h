/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_scores.h - the sequences of a text search, and the rules applied to the model's scores before
 * the next token is chosen: penalties, bans and masks, in ONNX Runtime's order. */
#ifndef OX_OPS_SEARCH_SEARCH_SCORES_H
#define OX_OPS_SEARCH_SEARCH_SCORES_H

#include "graph/control.h"

/* |rows| sequences of |length| tokens, |most| apart. */
typedef struct ox_sequences {
  int64_t rows, length, most;
  int32_t *ids, *spare;
} ox_sequences;

OX_NODISCARD ox_status *ox_sequences_init(const ox_control_ctx *c, int64_t rows, int64_t most, ox_sequences *out);
static inline const int32_t *ox_sequence(const ox_sequences *s, int64_t row) { return s->ids + row * s->most; }
/* Each row becomes a copy of what was row from[row] (NULL: stays), followed by tokens[row]. length < most. */
void ox_sequences_append(ox_sequences *s, const int64_t *from, const int32_t *tokens);

/* Tokens of Whisper's timestamps (WhisperBeamSearch); -1: none. */
typedef struct ox_timestamps {
  bool on;
  int64_t first, no_timestamps, start_of_lm, start, translate, transcribe;
} ox_timestamps;

typedef struct ox_score_rules {
  int64_t words, batch;
  float repetition_penalty; /* 1: none */
  int64_t no_repeat_ngram_size, min_length, eos;
  const int32_t *vocab_mask;        /* [words], 0: forbidden; NULL: none. Likewise: */
  const int32_t *prefix_vocab_mask; /* [batch, words], for the first token */
  float temperature;                /* 1: none */
  const int32_t *presence_mask;     /* [batch, words] */
  float presence_penalty;
  ox_timestamps timestamps;
  uint8_t *seen; /* words zeros */
} ox_score_rules;

/* |scores|: |words| for each row of |s|. |first|: they are for the first token after the prompt. */
void ox_search_adjust(const ox_score_rules *r, const ox_sequences *s, bool first, float *scores);

#endif
