/* SPDX-License-Identifier: Apache-2.0
 * support/tiny_lm.h - language models of eight words for tests of text searches, as text, and what they answer. The
 * score of word w after tokens t is the sum of LAST[t's last][w], POSITION[its position][w] (a decoder alone),
 * SAID[i][w] over all tokens i that the mask lets through, which come out of the states, and HEARD[i][w] over the
 * encoder's. */
#ifndef OX_TESTS_TINY_LM_H
#define OX_TESTS_TINY_LM_H

#include <stdbool.h>
#include <stdint.h>

enum { LM_WORDS = 8, LM_POSITIONS = 32, LM_PAD = 0 };
typedef enum lm_kind { LM_GPT, LM_T5_OLD, LM_T5_NEW, LM_T5_WHOLE, LM_WHISPER, LM_KINDS } lm_kind;

/* Tables that |seed| gives. */
typedef struct lm {
  lm_kind kind;
  float last[LM_WORDS][LM_WORDS], position[LM_POSITIONS][LM_WORDS], said[LM_WORDS][LM_WORDS], heard[LM_WORDS][LM_WORDS];
} lm;
void lm_make(lm *m, lm_kind kind, unsigned seed);

/* The model of one node |op| with the attributes |attrs| and the values |inputs| ("ids, max, , beams"), declared by
 * |declared| ("int32[B,S] ids, ..."); outputs by |outputs|, likewise. Its tables are the inputs last, position, said,
 * heard. For free(). */
char *lm_text(lm_kind kind, const char *op, const char *attrs, const char *declared, const char *inputs,
              const char *declared_out, const char *outputs);

/* The scores for what follows |n| tokens, the first |n_prompt| of them given, with |mask| over those (NULL: no padding
 * counts); |heard|: the encoder's tokens with |heard_mask|, |n_heard| of them, or for WHISPER features. */
typedef struct lm_context {
  const int32_t *mask;
  int64_t n_prompt;
  const int32_t *heard, *heard_mask;
  const float *features;
  int64_t n_heard;
} lm_context;
void lm_scores(const lm *m, const lm_context *c, const int32_t *tokens, int64_t n, double *out);

#endif
