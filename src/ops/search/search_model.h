/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_model.h - the model inside a text search: what its bodies take and give, step by step. A decoder
 * alone (GPT-2), or an encoder with one (T5, Whisper). Rows are batch entries times beams. */
#ifndef OX_OPS_SEARCH_SEARCH_MODEL_H
#define OX_OPS_SEARCH_SEARCH_MODEL_H

#include "ops/search/search_scores.h"

typedef enum ox_model_kind { OX_MODEL_GPT, OX_MODEL_T5, OX_MODEL_WHISPER } ox_model_kind;

typedef struct ox_search_model {
  const ox_control_ctx *c;
  ox_model_kind kind;
  int64_t batch, beams, rows;
  int32_t pad;
  ox_body *encoder;         /* T5, WHISPER */
  ox_body *first, *decoder; /* GPT: first may be another body than the one for later steps */
  uint32_t first_past;      /* input of the decoder; a state input i is output 1 + i - first_past of the step before */
  uint32_t n_self;          /* states of attention to what has been said; those to the encoder's output follow */
  bool whole;               /* the decoder wants all tokens so far, not only the new ones */
  ox_body *last;            /* whose outputs are the states now; NULL: they are in |in| */
  ox_tensor *in;            /* the decoder's inputs, own memory */
  int32_t *position;        /* GPT: of the next token, by row */
} ox_search_model;

/* Bodies and settings are given; |prompt|: its tokens or, with an encoder, the encoder's input; |mask| may be NULL. */
OX_NODISCARD ox_status *ox_search_model_init(ox_search_model *m, const ox_tensor *prompt, const ox_tensor *mask);
/* The scores after the sequences |s|, which are the prompt's, or, with an encoder, what the decoder begins with:
 * [rows or batch, any, vocabulary], of which the last position counts. Until the next step. */
OX_NODISCARD ox_status *ox_search_model_first(ox_search_model *m, const ox_sequences *s, const ox_tensor *prompt,
                                              const ox_tensor *mask, const ox_tensor **logits);
/* The same when row r is what row from[r] was (NULL: itself) and one token longer. */
OX_NODISCARD ox_status *ox_search_model_next(ox_search_model *m, const ox_sequences *s, const int64_t *from,
                                             const ox_tensor **logits);
/* |words| floats for every row from |logits|. */
OX_NODISCARD ox_status *ox_search_model_scores(const ox_search_model *m, const ox_tensor *logits, int64_t words,
                                               float *out);
/* Last dimension of the decoder's first output as declared; -1: not known. */
int64_t ox_search_vocabulary(const ox_graph *decoder);

#endif
