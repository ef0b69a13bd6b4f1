/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_model.h - runs the model of a text search, step by step: prepares the inputs of its bodies and
 * reads their outputs. A decoder alone (GPT-2), or an encoder and a decoder (T5, Whisper). Rows are batch entries
 * times beams. */
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
  uint32_t n_self;          /* states of self-attention; those of cross-attention follow */
  bool whole;               /* the decoder takes all tokens so far, not only the new ones */
  ox_body *last;            /* the body whose outputs are the current states; NULL: these are in |in| */
  ox_tensor *in;            /* the decoder's inputs, own memory */
  int32_t *position;        /* GPT: of the next token, by row */
} ox_search_model;

/* Bodies and settings are given; |prompt|: its tokens or, with an encoder, the encoder's input; |mask| may be NULL. */
OX_NODISCARD ox_status *ox_search_model_init(ox_search_model *m, const ox_tensor *prompt, const ox_tensor *mask);
/* The scores after the sequences |s|, which are the prompt's, or, with an encoder, the decoder's first tokens: [rows or
 * batch, any, vocabulary], of which the last position is used. Valid until the next step. */
OX_NODISCARD ox_status *ox_search_model_first(ox_search_model *m, const ox_sequences *s, const ox_tensor *prompt,
                                              const ox_tensor *mask, const ox_tensor **logits);
/* The same for the next step: row r continues what was row from[r] (NULL: row r), and is one token longer. */
OX_NODISCARD ox_status *ox_search_model_next(ox_search_model *m, const ox_sequences *s, const int64_t *from,
                                             const ox_tensor **logits);
/* |words| floats for every row from |logits|. */
OX_NODISCARD ox_status *ox_search_model_scores(const ox_search_model *m, const ox_tensor *logits, int64_t words,
                                               float *out);
/* Last dimension of the decoder's first output as declared; -1: not known. */
int64_t ox_search_vocabulary(const ox_graph *decoder);

#endif
