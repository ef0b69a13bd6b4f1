/* SPDX-License-Identifier: Apache-2.0
 * ops/greedy_search.c - com.microsoft's GreedySearch and Sampling: token sequences of the model in their bodies (a
 * decoder, or an encoder and a decoder), by the most probable next token, or by one drawn at random. */
#include <string.h>

#include "base/macros.h"
#include "kern/softmax/softmax.h"
#include "ops/search/search_inputs.h"
#include "ops/search/search_model.h"
#include "ops/shared/check.h"
#include "ops/shared/random.h"

enum {
  PROMPT,
  MAX_LENGTH,
  MIN_LENGTH,
  REPETITION_PENALTY,
  VOCAB_MASK,
  PREFIX_MASK,
  ATTENTION_MASK,
  PRESENCE_MASK,
  SEED
};
enum { SEQUENCES, FILTERED_LOGITS, MOST_LENGTH = 1 << 24 };

typedef struct greedy_attrs {
  ox_graph *decoder, *init_decoder, *encoder;
  int64_t model_type, vocab_size, no_repeat_ngram_size, decoder_start_token_id, pad_token_id, eos_token_id;
  int64_t custom, min_tokens_to_keep; /* Sampling, and: */
  float temperature, top_p, filter_value, presence_penalty;
} greedy_attrs;

#define BODY(field) OX_ATTR_ROW_(greedy_attrs, field, #field, OX_ATTR_GRAPH_KIND, 0, OX_NO_FIELD, .i = 0)
#define COMMON                                                                                                       \
  OX_ATTR_GRAPH(greedy_attrs, decoder), BODY(init_decoder), BODY(encoder), OX_ATTR_INT(greedy_attrs, model_type, 0), \
      OX_ATTR_INT(greedy_attrs, vocab_size, -1), OX_ATTR_INT(greedy_attrs, no_repeat_ngram_size, 0),                 \
      OX_ATTR_INT(greedy_attrs, decoder_start_token_id, -1), OX_ATTR_INT_REQUIRED(greedy_attrs, pad_token_id),       \
      OX_ATTR_INT_REQUIRED(greedy_attrs, eos_token_id)
static const ox_attr_def greedy_rows[] = {COMMON};
static const ox_attr_def sampling_rows[] = {
    COMMON,
    OX_ATTR_INT(greedy_attrs, custom, 0),
    OX_ATTR_INT(greedy_attrs, min_tokens_to_keep, 0),
    OX_ATTR_FLOAT(greedy_attrs, temperature, 1),
    OX_ATTR_FLOAT(greedy_attrs, top_p, 0),
    OX_ATTR_FLOAT(greedy_attrs, filter_value, -1e20f),
    OX_ATTR_FLOAT(greedy_attrs, presence_penalty, 0),
};

static ox_status *infer(ox_infer_ctx *c) {
  const greedy_attrs *a = c->attrs;
  if (a->model_type != OX_MODEL_GPT && a->model_type != OX_MODEL_T5)
    return ox_fail(OX_INVALID_MODEL, "%s: model_type is %lld, wanted 0 (a decoder alone) or 1 (with an encoder)", c->op,
                   (long long)a->model_type);
  if (a->model_type == OX_MODEL_T5 && (a->decoder_start_token_id < 0 || a->decoder_start_token_id > INT32_MAX))
    return ox_fail(OX_INVALID_MODEL, "%s: decoder_start_token_id is %lld", c->op, (long long)a->decoder_start_token_id);
  if (a->pad_token_id < INT32_MIN || a->pad_token_id > INT32_MAX)
    return ox_fail(OX_INVALID_MODEL, "%s: pad_token_id is %lld", c->op, (long long)a->pad_token_id);
  int64_t batch = ox_infer_dim(c, PROMPT, 0);
  int64_t words = a->vocab_size > 0 ? a->vocab_size : ox_search_vocabulary(a->decoder);
  ox_shape sequences = ox_shape_of(2, (int64_t[]){batch, -1}), logits = ox_shape_of(2, (int64_t[]){batch, words});
  ox_infer_out(c, SEQUENCES, OX_I32, &sequences);
  ox_infer_out(c, FILTERED_LOGITS, OX_F32, &logits);
  return NULL;
}

/* ---- run ---- */

typedef struct greedy_run {
  const ox_control_ctx *c;
  const greedy_attrs *a;
  bool sampling;
  int64_t batch, most;
  uint64_t key, drawn; /* Sampling: the key of its random numbers, and how many were drawn */
  ox_search_model model;
  ox_sequences said;
  ox_score_rules rules;
  const ox_tensor *mask, *logits;
  float *scores, *chances;
  int32_t *next, *order;
  bool *ended;
} greedy_run;

/* The sequences begin with the prompt or, with an encoder, with the decoder's start tokens. */
static ox_status *begin_sequences(greedy_run *g, const ox_tensor *prompt) {
  bool alone = g->a->model_type == OX_MODEL_GPT;
  int64_t n = alone ? prompt->shape.dim[1] : 1;
  if (n > g->most)
    return ox_fail(OX_INVALID_ARGUMENT, "max_length is %lld, %lld tokens are given", (long long)g->most, (long long)n);
  OX_TRY(ox_sequences_init(g->c, g->batch, g->most, &g->said));
  g->said.length = n;
  for (int64_t b = 0; b < g->batch; b++) {
    const int32_t start = (int32_t)g->a->decoder_start_token_id;
    memcpy(g->said.ids + b * g->most, alone ? (const int32_t *)prompt->data + b * n : &start, (size_t)n * sizeof start);
  }
  return NULL;
}

static ox_status *read_settings(greedy_run *g, const ox_tensor **prompt) {
  const ox_control_ctx *c = g->c;
  OX_TRY(ox_search_tokens(c, PROMPT, prompt));
  g->batch = (*prompt)->shape.dim[0], g->mask = ox_control_in(c, ATTENTION_MASK);
  OX_TRY(ox_search_int(c, MAX_LENGTH, "max_length", -1, 1, MOST_LENGTH, &g->most));
  OX_TRY(begin_sequences(g, *prompt));
  g->model = (ox_search_model){.c = c,
                               .kind = (ox_model_kind)g->a->model_type,
                               .batch = g->batch,
                               .beams = 1,
                               .rows = g->batch,
                               .pad = (int32_t)g->a->pad_token_id,
                               .encoder = ox_control_body(c, g->a->encoder),
                               .first = ox_control_body(c, g->a->init_decoder),
                               .decoder = ox_control_body(c, g->a->decoder)};
  g->next = ox_control_array(c, (size_t)g->batch, sizeof *g->next);
  g->ended = ox_control_array(c, (size_t)g->batch, sizeof *g->ended);
  if (!g->next || !g->ended) return ox_oom();
  return ox_search_model_init(&g->model, *prompt, g->mask);
}

static ox_status *read_rules(greedy_run *g) {
  const ox_control_ctx *c = g->c;
  const greedy_attrs *a = g->a;
  ox_score_rules *r = &g->rules;
  *r = (ox_score_rules){.words = a->vocab_size, .batch = g->batch, .eos = a->eos_token_id, .temperature = 1};
  if (r->words <= 0) r->words = g->logits->shape.rank == 3 ? g->logits->shape.dim[2] : 0;
  if (r->words < 1) return ox_fail(OX_SHAPE_MISMATCH, "the decoder's scores are for no words");
  r->no_repeat_ngram_size = a->no_repeat_ngram_size;
  OX_TRY(ox_search_int(c, MIN_LENGTH, "min_length", 0, 0, g->most, &r->min_length));
  OX_TRY(ox_search_float(c, REPETITION_PENALTY, "repetition_penalty", 1, &r->repetition_penalty));
  if (!(r->repetition_penalty > 0))
    return ox_fail(OX_INVALID_ARGUMENT, "repetition_penalty is %g", (double)r->repetition_penalty);
  OX_TRY(ox_search_mask(c, VOCAB_MASK, "vocab_mask", 0, r->words, &r->vocab_mask));
  OX_TRY(ox_search_mask(c, PREFIX_MASK, "prefix_vocab_mask", g->batch, r->words, &r->prefix_vocab_mask));
  if (g->sampling) {
    OX_TRY(ox_search_mask(c, PRESENCE_MASK, "presence_mask", g->batch, r->words, &r->presence_mask));
    r->presence_penalty = a->presence_penalty;
    if (a->temperature > 0) r->temperature = a->temperature;
  }
  r->seen = ox_control_array(c, (size_t)r->words, 1);
  g->scores = ox_control_array(c, (size_t)r->words * sizeof *g->scores, (size_t)g->batch);
  g->chances = ox_control_array(c, (size_t)r->words, sizeof *g->chances);
  g->order = ox_control_array(c, (size_t)r->words * 2, sizeof *g->order);
  return r->seen && g->scores && g->chances && g->order ? NULL : ox_oom();
}

/* The first of the largest; NaN is never larger. */
static int32_t likeliest(const float *scores, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (scores[i] > scores[best] || (scores[best] != scores[best] && scores[i] == scores[i])) best = i;
  return (int32_t)best;
}

/* |order| becomes 0 .. n - 1 by falling scores, equal ones as they come; a merge sort with |spare|. */
static void sort_falling(const float *x, int64_t n, int32_t *order, int32_t *spare) {
  int32_t *from = order, *to = spare;
  for (int64_t i = 0; i < n; i++) from[i] = (int32_t)i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t at = 0; at < n; at += 2 * width) {
      int64_t a = at, a_end = OX_MIN(at + width, n), b = a_end, b_end = OX_MIN(at + 2 * width, n);
      for (int64_t i = at; i < b_end; i++)
        to[i] = b == b_end || (a < a_end && !(x[from[b]] > x[from[a]])) ? from[a++] : from[b++];
    }
    int32_t *t = from;
    from = to, to = t;
  }
  if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Keeps the most probable tokens, which together have probability top_p; the others get filter_value. The custom method
 * counts from the most probable down, the default from the least probable up, and keeps min_tokens_to_keep. */
static void filter(const greedy_run *g, float *scores) {
  const greedy_attrs *a = g->a;
  int64_t n = g->rules.words;
  double sum = 0;
  sort_falling(scores, n, g->order, g->order + n);
  ox_softmax_select(0)->row(scores, g->chances, (size_t)n);
  if (a->custom) {
    for (int64_t i = 0; i + 1 < n; i++) {
      sum += (double)g->chances[g->order[i]];
      if ((float)sum > a->top_p) scores[g->order[i + 1]] = a->filter_value;
    }
    return;
  }
  for (int64_t i = n - 1; i >= 0 && (i == n - 1 || i >= a->min_tokens_to_keep); i--) {
    sum += (double)g->chances[g->order[i]];
    if ((float)sum <= 1 - a->top_p) scores[g->order[i]] = a->filter_value;
  }
}

static int32_t draw(greedy_run *g, const float *scores) {
  int64_t n = g->rules.words;
  double left = ox_random_uniform(g->key, g->drawn++);
  ox_softmax_select(0)->row(scores, g->chances, (size_t)n);
  for (int64_t i = 0; i < n; i++)
    if ((left -= (double)g->chances[i]) < 0) return (int32_t)i;
  return likeliest(scores, n); /* rounding errors: no token was reached */
}

/* One more token for every row; *all: every row has ended, and goes on with padding. */
static ox_status *step(greedy_run *g, bool first, bool *all) {
  int64_t words = g->rules.words;
  OX_TRY(ox_search_model_scores(&g->model, g->logits, words, g->scores));
  ox_search_adjust(&g->rules, &g->said, first, g->scores);
  *all = true;
  for (int64_t b = 0; b < g->batch; b++) {
    float *scores = g->scores + b * words;
    if (g->sampling) filter(g, scores);
    int32_t token = g->sampling ? draw(g, scores) : likeliest(scores, words);
    g->ended[b] = g->ended[b] || token == g->a->eos_token_id;
    g->next[b] = g->ended[b] ? (int32_t)g->a->pad_token_id : token;
    *all = *all && g->ended[b];
  }
  ox_sequences_append(&g->said, NULL, g->next);
  return NULL;
}

static ox_status *put_outputs(greedy_run *g) {
  ox_tensor *ids, *logits;
  ox_shape s = ox_shape_of(2, (int64_t[]){g->batch, g->most}),
           t = ox_shape_of(2, (int64_t[]){g->batch, g->rules.words});
  OX_TRY(ox_search_output(g->c, SEQUENCES, OX_I32, &s, &ids));
  for (int64_t i = 0; ids && i < g->batch * g->most; i++) {
    int64_t at = i % g->most;
    ((int32_t *)ids->data)[i] = at < g->said.length ? g->said.ids[i] : (int32_t)g->a->pad_token_id;
  }
  OX_TRY(ox_search_output(g->c, FILTERED_LOGITS, OX_F32, &t, &logits));
  if (logits) memcpy(logits->data, g->scores, logits->bytes);
  return NULL;
}

static ox_status *run_with(const ox_control_ctx *c, bool sampling) {
  greedy_run g = {.c = c, .a = c->node->attrs, .sampling = sampling};
  const ox_tensor *prompt;
  bool all = false;
  OX_TRY(read_settings(&g, &prompt));
  if (sampling) {
    int64_t seed;
    OX_TRY(ox_search_int(c, SEED, "seed", 0, INT32_MIN, INT32_MAX, &seed));
    g.key = ox_control_in(c, SEED) ? (uint64_t)seed : ox_ctx_random_key(c->node);
  }
  OX_TRY(ox_search_model_first(&g.model, &g.said, prompt, g.mask, &g.logits));
  OX_TRY(read_rules(&g));
  for (bool first = true; g.said.length < g.most; first = false) {
    OX_TRY(step(&g, first, &all));
    if (all || g.said.length == g.most) break;
    OX_TRY(ox_search_model_next(&g.model, &g.said, NULL, &g.logits));
  }
  return put_outputs(&g);
}

static ox_status *run_greedy(const ox_control_ctx *c) { return run_with(c, false); }
static ox_status *run_sampling(const ox_control_ctx *c) { return run_with(c, true); }
static const ox_control_def greedy = {.run = run_greedy}, sampling = {.run = run_sampling};

#define I32 OX_BIT(OX_I32)
#define ROW                                                                                                        \
  .domain = "com.microsoft", .since = 1, .types = {I32, I32, I32, OX_BIT(OX_F32), I32}, .min_in = 2, .min_out = 1, \
  .attrs_bytes = sizeof(greedy_attrs), .infer = infer
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GreedySearch", ROW, .max_in = 7, .max_out = 1, .traits = OX_CONTROL, OX_ATTRS(greedy_rows),
               .control = &greedy),
     NULL},
    {OX_SCHEMA(.name = "Sampling", ROW, .max_in = 9, .max_out = 2, .traits = OX_CONTROL | OX_NONDETERMINISTIC,
               OX_ATTRS(sampling_rows), .control = &sampling),
     NULL},
};
const ox_op_set ox_ops_greedy_search = {ops, OX_COUNT(ops)};
