/* SPDX-License-Identifier: Apache-2.0
 * ops/beam_search.c - com.microsoft's BeamSearch and WhisperBeamSearch: the most probable token sequences of the
 * model in their bodies. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "kern/quant/convert.h"
#include "kern/softmax/softmax.h"
#include "ops/search/search_beams.h"
#include "ops/search/search_inputs.h"
#include "ops/search/search_model.h"
#include "ops/shared/check.h"

enum {
  PROMPT,
  MAX_LENGTH,
  MIN_LENGTH,
  NUM_BEAMS,
  NUM_RETURN,
  LENGTH_PENALTY,
  REPETITION_PENALTY,
  VOCAB_MASK,
  PREFIX_MASK,
  ATTENTION_MASK,
  DECODER_IDS,
  PROCESSOR,
  CROSS_LAYER_HEAD,
  EXTRA_IDS,
  TEMPERATURE
};
enum { SEQUENCES, SEQUENCES_SCORES, SCORES, CROSS_QK, NO_SPEECH };
enum { MOST_LENGTH = 1 << 24, MOST_BEAMS = 1 << 12 };

typedef struct beam_attrs {
  ox_graph *decoder, *init_decoder, *encoder;
  int64_t model_type, vocab_size, no_repeat_ngram_size, decoder_start_token_id, early_stopping, pad_token_id,
      eos_token_id;
  int64_t decoder_output_cross_qk, no_speech_token_id; /* WhisperBeamSearch, and its timestamps: */
  int64_t beginning_timestamp_token_id, no_timestamps_token_id, start_of_lm_token_id, translate_token_id,
      transcribe_token_id;
} beam_attrs;

#define BODY(field) OX_ATTR_ROW_(beam_attrs, field, #field, OX_ATTR_GRAPH_KIND, 0, OX_NO_FIELD, .i = 0)
#define COMMON(type)                                                                                                \
  OX_ATTR_GRAPH(beam_attrs, decoder), BODY(init_decoder), BODY(encoder), OX_ATTR_INT(beam_attrs, model_type, type), \
      OX_ATTR_INT(beam_attrs, vocab_size, -1), OX_ATTR_INT(beam_attrs, no_repeat_ngram_size, 0),                    \
      OX_ATTR_INT(beam_attrs, decoder_start_token_id, -1), OX_ATTR_INT(beam_attrs, early_stopping, 0),              \
      OX_ATTR_INT_REQUIRED(beam_attrs, pad_token_id), OX_ATTR_INT_REQUIRED(beam_attrs, eos_token_id)
static const ox_attr_def beam_rows[] = {COMMON(0)};
static const ox_attr_def whisper_rows[] = {
    COMMON(2),
    OX_ATTR_INT(beam_attrs, decoder_output_cross_qk, 0),
    OX_ATTR_INT(beam_attrs, no_speech_token_id, -1),
    OX_ATTR_INT(beam_attrs, beginning_timestamp_token_id, -1),
    OX_ATTR_INT(beam_attrs, no_timestamps_token_id, -1),
    OX_ATTR_INT(beam_attrs, start_of_lm_token_id, -1),
    OX_ATTR_INT(beam_attrs, translate_token_id, -1),
    OX_ATTR_INT(beam_attrs, transcribe_token_id, -1),
};

/* ---- types ---- */

/* Penalties and scores have one type, the model's. |dtype|: of the inputs in |typed|, 0 where there is none. */
static const uint32_t typed[] = {LENGTH_PENALTY, REPETITION_PENALTY, TEMPERATURE};
static uint32_t score_type(const beam_attrs *a, const uint32_t *dtype) {
  for (size_t i = 0; i < OX_COUNT(typed); i++)
    if (dtype[i]) return dtype[i];
  uint32_t declared = a->decoder->n_outputs ? ox_body_type(a->decoder, 0)->dtype : OX_UNDEFINED;
  return declared ? declared : OX_F32;
}

static ox_status *infer(ox_infer_ctx *c) {
  const beam_attrs *a = c->attrs;
  if (a->model_type < 0 || a->model_type > 2)
    return ox_fail(OX_INVALID_MODEL, "%s: model_type is %lld", c->op, (long long)a->model_type);
  if (a->pad_token_id < INT32_MIN || a->pad_token_id > INT32_MAX || a->decoder_start_token_id > INT32_MAX)
    return ox_fail(OX_INVALID_MODEL, "%s: pad_token_id or decoder_start_token_id is out of range", c->op);
  uint32_t given[OX_COUNT(typed)];
  for (size_t i = 0; i < OX_COUNT(typed); i++) given[i] = ox_infer_has(c, typed[i]) ? c->in[typed[i]]->dtype : 0;
  uint32_t dtype = score_type(a, given);
  int64_t batch = ox_infer_dim(c, PROMPT, 0);
  int64_t words = a->vocab_size > 0 ? a->vocab_size : ox_search_vocabulary(a->decoder);
  ox_shape sequences = ox_shape_of(3, (int64_t[]){batch, -1, -1}), ends = ox_shape_of(2, (int64_t[]){batch, -1});
  ox_shape scores = ox_shape_of(4, (int64_t[]){-1, batch, -1, words}), one = ox_shape_of(1, &batch);
  ox_infer_out(c, SEQUENCES, OX_I32, &sequences);
  ox_infer_out(c, SEQUENCES_SCORES, dtype, &ends);
  ox_infer_out(c, SCORES, dtype, &scores);
  ox_infer_out(c, CROSS_QK, OX_F32, NULL);
  ox_infer_out(c, NO_SPEECH, dtype, &one);
  return NULL;
}

/* ---- run ---- */

typedef struct beam_run {
  const ox_control_ctx *c;
  const beam_attrs *a;
  int64_t batch, rows, most, n_return;
  uint32_t dtype; /* element type of the output scores */
  ox_search_model model;
  ox_sequences said;
  ox_score_rules rules;
  ox_beams beams;
  const ox_tensor *prompt, *mask, *logits;
  float *scores;         /* rows * words */
  ox_tensor *all_scores; /* output SCORES, or NULL */
} beam_run;

/* The first tokens of the decoder: the prompt, or those of an input or attribute; *n: how many. */
static ox_status *first_tokens(beam_run *b, const ox_tensor **tokens, int64_t *n) {
  *tokens = NULL;
  if (b->model.kind == OX_MODEL_GPT) {
    OX_TRY(ox_search_tokens(b->c, PROMPT, tokens));
  } else if (ox_control_in(b->c, DECODER_IDS)) {
    OX_TRY(ox_search_tokens(b->c, DECODER_IDS, tokens));
    if ((*tokens)->shape.dim[0] != b->batch)
      return ox_fail(OX_SHAPE_MISMATCH, "decoder_input_ids has %lld rows, wanted %lld",
                     (long long)(*tokens)->shape.dim[0], (long long)b->batch);
  } else if (b->a->decoder_start_token_id < 0) {
    return ox_fail(OX_INVALID_MODEL, "neither decoder_start_token_id nor decoder_input_ids is given");
  }
  *n = *tokens ? (*tokens)->shape.dim[1] : 1;
  return NULL;
}

static ox_status *begin_sequences(beam_run *b) {
  const ox_tensor *tokens;
  int64_t n = 0;
  OX_TRY(first_tokens(b, &tokens, &n));
  if (n > b->most)
    return ox_fail(OX_INVALID_ARGUMENT, "max_length is %lld, %lld tokens are given", (long long)b->most, (long long)n);
  OX_TRY(ox_sequences_init(b->c, b->rows, b->most, &b->said));
  for (int64_t r = 0; r < b->rows; r++)
    for (int64_t i = 0; i < n; i++)
      b->said.ids[r * b->most + i] =
          tokens ? ((const int32_t *)tokens->data)[r / b->model.beams * n + i] : (int32_t)b->a->decoder_start_token_id;
  b->said.length = n;
  return NULL;
}

static ox_status *read_settings(beam_run *b) {
  const ox_control_ctx *c = b->c;
  const beam_attrs *a = b->a;
  int64_t beams;
  b->prompt = ox_control_in(c, PROMPT), b->mask = ox_control_in(c, ATTENTION_MASK);
  if (!b->prompt || b->prompt->shape.rank < 2 || b->prompt->shape.dim[0] < 1)
    return ox_fail(OX_SHAPE_MISMATCH, "the prompt must be [batch, length] or features of a batch");
  OX_TRY(ox_search_int(c, MAX_LENGTH, "max_length", -1, 1, MOST_LENGTH, &b->most));
  OX_TRY(ox_search_int(c, NUM_BEAMS, "num_beams", -1, 1, MOST_BEAMS, &beams));
  OX_TRY(ox_search_int(c, NUM_RETURN, "num_return_sequences", 1, 1, beams, &b->n_return));
  if (b->most < 0 || beams < 0) return ox_fail(OX_INVALID_MODEL, "max_length and num_beams are required");
  b->batch = b->prompt->shape.dim[0];
  if (!ox_mul_i64_ok(b->batch, beams, &b->rows)) return ox_fail(OX_LIMIT, "%lld beams", (long long)beams);
  b->model = (ox_search_model){.c = c,
                               .kind = (ox_model_kind)a->model_type,
                               .batch = b->batch,
                               .beams = beams,
                               .rows = b->rows,
                               .pad = (int32_t)a->pad_token_id,
                               .encoder = ox_control_body(c, a->encoder),
                               .first = ox_control_body(c, a->init_decoder),
                               .decoder = ox_control_body(c, a->decoder)};
  if (b->model.kind == OX_MODEL_T5) OX_TRY(ox_search_tokens(c, PROMPT, &b->prompt));
  OX_TRY(begin_sequences(b));
  b->beams = (ox_beams){.batch = b->batch,
                        .width = beams,
                        .eos = a->eos_token_id,
                        .pad = (int32_t)a->pad_token_id,
                        .early_stopping = a->early_stopping != 0};
  OX_TRY(ox_search_float(c, LENGTH_PENALTY, "length_penalty", 1, &b->beams.length_penalty));
  OX_TRY(ox_beams_init(c, b->most, &b->beams));
  return ox_search_model_init(&b->model, b->prompt, b->mask);
}

static int64_t or_else(int64_t given, int64_t usual) { return given >= 0 ? given : usual; }

/* The shape of the model's first output gives the size of the vocabulary. */
static ox_status *read_rules(beam_run *b) {
  const ox_control_ctx *c = b->c;
  const beam_attrs *a = b->a;
  ox_score_rules *r = &b->rules;
  int64_t processor;
  *r = (ox_score_rules){.words = a->vocab_size, .batch = b->batch, .eos = a->eos_token_id, .temperature = 1};
  if (r->words <= 0) r->words = b->logits->shape.rank == 3 ? b->logits->shape.dim[2] : 0;
  if (r->words < 2) return ox_fail(OX_SHAPE_MISMATCH, "the decoder's scores are for %lld words", (long long)r->words);
  r->no_repeat_ngram_size = a->no_repeat_ngram_size, b->beams.words = r->words;
  OX_TRY(ox_search_int(c, MIN_LENGTH, "min_length", 0, 0, b->most, &r->min_length));
  OX_TRY(ox_search_float(c, REPETITION_PENALTY, "repetition_penalty", 1, &r->repetition_penalty));
  if (!(r->repetition_penalty > 0))
    return ox_fail(OX_INVALID_ARGUMENT, "repetition_penalty is %g", (double)r->repetition_penalty);
  OX_TRY(ox_search_mask(c, VOCAB_MASK, "vocab_mask", 0, r->words, &r->vocab_mask));
  OX_TRY(ox_search_mask(c, PREFIX_MASK, "prefix_vocab_mask", b->batch, r->words, &r->prefix_vocab_mask));
  OX_TRY(ox_search_int(c, PROCESSOR, "logits_processor", 0, 0, INT32_MAX, &processor));
  OX_TRY(ox_search_float(c, TEMPERATURE, "temperature", 1, &r->temperature));
  if (!(r->temperature > 0)) r->temperature = 1; /* none */
  r->timestamps = (ox_timestamps){.on = processor == 1,
                                  .first = or_else(a->beginning_timestamp_token_id, r->eos + 107),
                                  .no_timestamps = or_else(a->no_timestamps_token_id, r->eos + 106),
                                  .start_of_lm = or_else(a->start_of_lm_token_id, r->eos + 105),
                                  .start = or_else(a->decoder_start_token_id, r->eos + 1),
                                  .translate = or_else(a->translate_token_id, 50358),
                                  .transcribe = or_else(a->transcribe_token_id, 50359)};
  r->seen = ox_control_array(c, (size_t)r->words, 1);
  b->scores = ox_control_array(c, (size_t)r->words * sizeof *b->scores, (size_t)b->rows);
  return r->seen && b->scores ? NULL : ox_oom();
}

static ox_status *begin_outputs(beam_run *b) {
  ox_shape all = ox_shape_of(4, (int64_t[]){b->most - b->said.length, b->batch, b->model.beams, b->rules.words});
  if (ox_control_out(b->c, CROSS_QK))
    return ox_fail(OX_NOT_IMPLEMENTED, "output cross_qk, which decoders of ONNX Runtime's GPU provider give");
  OX_TRY(ox_search_output(b->c, SCORES, b->dtype, &all, &b->all_scores));
  if (b->all_scores) memset(b->all_scores->data, 0, b->all_scores->bytes);
  return NULL;
}

/* Writes the probability of no speech, from the first scores. */
static ox_status *put_no_speech(const beam_run *b) {
  ox_tensor *out;
  ox_shape s = ox_shape_of(1, &b->batch);
  int64_t token = b->a->no_speech_token_id;
  OX_TRY(ox_search_output(b->c, NO_SPEECH, b->dtype, &s, &out));
  if (!out) return NULL;
  if (token < 0 || token >= b->rules.words)
    return ox_fail(OX_INVALID_MODEL, "no_speech_token_id is %lld of %lld words", (long long)token,
                   (long long)b->rules.words);
  for (int64_t i = 0; i < b->batch; i++) {
    float p = expf(b->scores[i * b->model.beams * b->rules.words + token]);
    ox_convert_select(0)->store_f32[b->dtype](&p, out->data, (size_t)i, 1, NULL);
  }
  return NULL;
}

/* One more token for every beam. */
static ox_status *step(beam_run *b, int64_t number, bool *done) {
  int64_t words = b->rules.words;
  const ox_softmax_table *t = ox_softmax_select(0);
  OX_TRY(ox_search_model_scores(&b->model, b->logits, words, b->scores));
  for (int64_t r = 0; r < b->rows; r++) t->log_row(b->scores + r * words, b->scores + r * words, (size_t)words);
  if (number == 0) OX_TRY(put_no_speech(b));
  ox_search_adjust(&b->rules, &b->said, number == 0, b->scores);
  for (int64_t i = 0; i < b->rows * words; i++) b->scores[i] += b->beams.sum[i / words];
  if (b->all_scores)
    ox_convert_select(0)->store_f32[b->dtype](b->scores, b->all_scores->data, (size_t)(number * b->rows * words),
                                              (size_t)(b->rows * words), NULL);
  OX_TRY(ox_beams_choose(&b->beams, &b->said, b->scores, done));
  ox_sequences_append(&b->said, b->beams.from, b->beams.token);
  return NULL;
}

static ox_status *put_sequences(beam_run *b) {
  ox_tensor *ids, *scores;
  int64_t n = b->n_return;
  ox_shape s = ox_shape_of(3, (int64_t[]){b->batch, n, b->most}), t = ox_shape_of(2, (int64_t[]){b->batch, n});
  OX_TRY(ox_search_output(b->c, SEQUENCES, OX_I32, &s, &ids));
  OX_TRY(ox_search_output(b->c, SEQUENCES_SCORES, b->dtype, &t, &scores));
  for (int64_t i = 0; i < b->batch * n; i++) {
    const ox_hypothesis *h = &b->beams.best[i / n * b->beams.width + i % n];
    for (int64_t k = 0; ids && k < b->most; k++)
      ((int32_t *)ids->data)[i * b->most + k] = k < h->length ? h->ids[k] : b->beams.pad;
    if (scores) ox_convert_select(0)->store_f32[b->dtype](&h->score, scores->data, (size_t)i, 1, NULL);
  }
  return NULL;
}

static ox_status *run(const ox_control_ctx *c) {
  beam_run b = {.c = c, .a = c->node->attrs};
  uint32_t given[OX_COUNT(typed)];
  bool done = false;
  for (size_t i = 0; i < OX_COUNT(typed); i++)
    given[i] = ox_control_in(c, typed[i]) ? ox_control_in(c, typed[i])->dtype : 0;
  b.dtype = score_type(b.a, given);
  OX_TRY(read_settings(&b));
  OX_TRY(ox_search_model_first(&b.model, &b.said, b.prompt, b.mask, &b.logits));
  OX_TRY(read_rules(&b));
  OX_TRY(begin_outputs(&b));
  for (int64_t number = 0; b.said.length < b.most; number++) {
    OX_TRY(step(&b, number, &done));
    if (done || b.said.length == b.most) break;
    OX_TRY(ox_search_model_next(&b.model, &b.said, b.beams.from, &b.logits));
  }
  ox_beams_finish(&b.beams, &b.said);
  return put_sequences(&b);
}

static const ox_control_def control = {.run = run};

#define I32 OX_BIT(OX_I32)
#define HALVES (OX_BIT(OX_F32) | OX_BIT(OX_F16))
#define ROW                                                                                                \
  .domain = "com.microsoft", .since = 1, .types = {HALVES | I32, I32, I32, I32, I32, HALVES, HALVES, I32}, \
  .more_types = more, .min_in = 5, .min_out = 1, .traits = OX_CONTROL, .attrs_bytes = sizeof(beam_attrs),  \
  .infer = infer, .control = &control
static const uint32_t more[] = {I32, I32, I32, I32, I32, I32, HALVES}; /* of inputs from 8 on */
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BeamSearch", ROW, .vars = ".....TT", .max_in = 12, .max_out = 3, OX_ATTRS(beam_rows)), NULL},
    {OX_SCHEMA(.name = "WhisperBeamSearch", ROW, .vars = ".....TT.......T", .max_in = 15, .max_out = 5,
               OX_ATTRS(whisper_rows)),
     NULL},
};
const ox_op_set ox_ops_beam_search = {ops, OX_COUNT(ops)};
