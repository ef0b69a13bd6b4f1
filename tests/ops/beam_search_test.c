/* SPDX-License-Identifier: Apache-2.0
 * ops/beam_search_test.c - BeamSearch and WhisperBeamSearch against a search that keeps whole texts, for models of
 * every kind. ONNX Runtime 1.31 agrees with that search wherever it was asked, one batch entry at a time: with several,
 * its test for the end looks at scores of the entry before. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"
#include "support/tiny_lm.h"

enum { BATCH = 2, LENGTH = 3, MOST = 12, WIDEST = 4, START = 2, FRAMES = 3 };
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

typedef struct settings {
  int beams, n_return, eos, no_repeat, min_length;
  float length_penalty, repetition_penalty;
  bool early, vocab_mask, prefix_mask, mask;
} settings;
static const settings rows[] = {
    {1, 1, 1, 0, 0, 1, 1, false, false, false, false},   {3, 2, 1, 0, 0, 1, 1, false, false, false, false},
    {4, 4, 5, 0, 0, 0.5f, 1, true, false, false, true},  {3, 3, 1, 2, 7, 2, 1.75f, false, true, false, false},
    {2, 1, 3, 2, 0, 1, 0.75f, true, true, true, false},  {4, 2, 1, 3, 5, -1, 1.25f, false, false, true, true},
    {2, 2, 100, 0, 0, 1, 1, false, false, false, false}, {2, 2, -1, 0, 0, 0, 1, true, false, false, false},
};
static const int32_t prompts[BATCH][LENGTH] = {{0, 4, 5}, {3, 7, 2}}, masks[BATCH][LENGTH] = {{0, 1, 1}, {1, 0, 1}};
static const int32_t vocabulary[LM_WORDS] = {0, 1, 1, 1, 1, 1, 0, 1};
static const int32_t prefixes[BATCH][LM_WORDS] = {{1, 0, 1, 1, 0, 1, 1, 1}, {1, 1, 1, 0, 1, 0, 1, 1}};

/* ---- the search that keeps whole texts ---- */

typedef struct text {
  int32_t ids[MOST];
  int n;
  double score;
} text;

static void forbid(const int32_t *mask, double *scores) {
  for (int w = 0; w < LM_WORDS; w++)
    if (!mask[w]) scores[w] = -DBL_MAX;
}

static void log_softmax(double *x) {
  double most = x[0], sum = 0;
  for (int w = 0; w < LM_WORDS; w++) most = fmax(most, x[w]);
  for (int w = 0; w < LM_WORDS; w++) sum += exp(x[w] - most);
  for (int w = 0; w < LM_WORDS; w++) x[w] -= most + log(sum);
}

static void adjust(const settings *s, const text *t, int entry, bool first, double *scores) {
  for (int w = 0; w < LM_WORDS && s->repetition_penalty != 1; w++) {
    bool said = false;
    for (int i = 0; i < t->n; i++) said = said || t->ids[i] == w;
    if (said) scores[w] *= scores[w] < 0 ? (double)s->repetition_penalty : 1 / (double)s->repetition_penalty;
  }
  for (int w = 0; w < LM_WORDS && s->no_repeat && s->no_repeat <= t->n; w++)
    for (int i = 0; i + s->no_repeat <= t->n; i++) {
      bool same = t->ids[i + s->no_repeat - 1] == w;
      for (int k = 0; same && k < s->no_repeat - 1; k++) same = t->ids[i + k] == t->ids[t->n - s->no_repeat + 1 + k];
      if (same) scores[w] = -DBL_MAX;
    }
  if (s->vocab_mask) forbid(vocabulary, scores);
  if (s->prefix_mask && first) forbid(prefixes[entry], scores);
  if (t->n < s->min_length && s->eos >= 0 && s->eos < LM_WORDS) scores[s->eos] = -DBL_MAX;
}

static void keep(text *best, int *n, int width, const text *t, double penalty) {
  text ended = *t;
  ended.score /= pow(t->n, penalty);
  int at = *n;
  while (at > 0 && best[at - 1].score < ended.score) at--;
  if (at == width) return;
  if (*n < width) ++*n;
  for (int i = *n - 1; i > at; i--) best[i] = best[i - 1];
  best[at] = ended;
}

/* The 2 * width best ways to go on; returns whether the search is over. */
static bool go_on(const settings *s, const lm *m, const lm_context *c, int entry, bool first, text *beams, text *best,
                  int *n_best) {
  double scores[WIDEST][LM_WORDS];
  text next[WIDEST];
  int length = beams[0].n, n_next = 0;
  double top = -INFINITY;
  for (int b = 0; b < s->beams; b++) {
    lm_scores(m, c, beams[b].ids, length, scores[b]);
    log_softmax(scores[b]);
    adjust(s, &beams[b], entry, first, scores[b]);
    for (int w = 0; w < LM_WORDS; w++) scores[b][w] += beams[b].score;
  }
  for (int k = 0; k < 2 * s->beams && n_next < s->beams; k++) {
    int at = 0;
    for (int i = 1; i < s->beams * LM_WORDS; i++)
      if (scores[i / LM_WORDS][i % LM_WORDS] > scores[at / LM_WORDS][at % LM_WORDS]) at = i;
    text t = beams[at / LM_WORDS];
    t.score = scores[at / LM_WORDS][at % LM_WORDS], top = fmax(top, t.score);
    scores[at / LM_WORDS][at % LM_WORDS] = -INFINITY;
    if (at % LM_WORDS == s->eos) {
      if (k < s->beams) keep(best, n_best, s->beams, &t, (double)s->length_penalty);
    } else {
      t.ids[t.n++] = at % LM_WORDS;
      next[n_next++] = t;
    }
  }
  memcpy(beams, next, (size_t)s->beams * sizeof *next);
  if (*n_best < s->beams) return false;
  return s->early || best[s->beams - 1].score >= top / pow(length, (double)s->length_penalty);
}

static void search(const settings *s, const lm *m, const lm_context *c, int entry, const int32_t *start, int n,
                   text *best) {
  text beams[WIDEST];
  int n_best = 0;
  bool done = false;
  for (int b = 0; b < s->beams; b++) {
    beams[b].n = n, beams[b].score = b ? -1e9 : 0;
    memcpy(beams[b].ids, start, (size_t)n * sizeof *start);
  }
  for (bool first = true; !done && beams[0].n < MOST; first = false)
    done = go_on(s, m, c, entry, first, beams, best, &n_best);
  for (int b = 0; b < s->beams && !done; b++) keep(best, &n_best, s->beams, &beams[b], (double)s->length_penalty);
}

/* ---- the operator ---- */

static ox_value *tensor(ox_env *env, uint32_t dtype, size_t rank, const int64_t *dims, const void *data) {
  ox_value *v;
  CHECK_OK(ox_value_create(env, dtype, dims, rank, &v));
  memcpy(ox_value_data(v), data, ox_value_get(v)->bytes);
  return v;
}

enum { N_IN = 18 };
static const char *const names[N_IN] = {"ids",    "most",  "least",    "beams", "returns", "length",
                                        "repeat", "vocab", "prefix",   "mask",  "start",   "how",
                                        "temper", "last",  "position", "said",  "heard",   ""};
static const char declared[] =
    "int32[B,S] ids, int32[1] most, int32[1] least, int32[1] beams, int32[1] returns, float[1] length, float[1] "
    "repeat, int32[8] vocab, int32[B,8] prefix, int32[B,S] mask, int32[B,D] start, int32[1] how, float[1] temper";
static const char declared_whisper[] =
    "float[B,8,S] ids, int32[1] most, int32[1] least, int32[1] beams, int32[1] returns, float[1] length, float[1] "
    "repeat, int32[8] vocab, int32[B,8] prefix, int32[B,S] mask, int32[B,D] start, int32[1] how, float[1] temper";

typedef struct question {
  const settings *s;
  const lm *m;
  const float *features;
  bool whisper_op; /* WhisperBeamSearch */
  int32_t most;
} question;

/* Runs it; outputs 0 to 2, or those that |n_out| says. */
static ox_status *ask(ox_env *env, const question *q, size_t n_out, ox_value **out) {
  const settings *s = q->s;
  static const int kinds[LM_KINDS] = {0, 1, 1, 1, 2};
  static const float one = 1;
  static const int32_t zero = 0;
  const int32_t least = s->min_length, beams = s->beams, returns = s->n_return, most = q->most;
  const int32_t start[BATCH][2] = {{START, 3}, {START, 5}};
  bool whisper = q->m->kind == LM_WHISPER;
  char attrs[256], inputs[256];
  snprintf(attrs, sizeof attrs,
           "eos_token_id = %d, pad_token_id = 0, model_type = %d, decoder_start_token_id = %d, early_stopping = %d, "
           "no_repeat_ngram_size = %d%s",
           s->eos, kinds[q->m->kind], START, s->early, s->no_repeat, q->whisper_op ? ", no_speech_token_id = 4" : "");
  snprintf(inputs, sizeof inputs, "ids, most, least, beams, returns, length, repeat, %s, %s, %s, %s, how%s",
           s->vocab_mask ? "vocab" : "", s->prefix_mask ? "prefix" : "", s->mask ? "mask" : "", whisper ? "start" : "",
           q->whisper_op ? ", , , temper" : "");
  char *model = lm_text(q->m->kind, q->whisper_op ? "WhisperBeamSearch" : "BeamSearch", attrs,
                        whisper ? declared_whisper : declared, inputs,
                        q->whisper_op ? "int32[B,R,M] y0, float[B,R] y1, float[E,B,K,8] y2, float[B] y4"
                                      : "int32[B,R,M] y0, float[B,R] y1, float[E,B,K,8] y2",
                        q->whisper_op ? "y0, y1, y2, , y4" : "y0, y1, y2");
  ox_session *session = NULL;
  assert_non_null(model);
  ox_status *st = text_session(env, model, NULL, &session);
  free(model);
  if (st) return st;
  ox_value *in[] = {
      whisper ? tensor(env, OX_F32, 3, DIMS(BATCH, LM_WORDS, FRAMES), q->features)
              : tensor(env, OX_I32, 2, DIMS(BATCH, LENGTH), prompts),
      tensor(env, OX_I32, 1, DIMS(1), &most),
      tensor(env, OX_I32, 1, DIMS(1), &least),
      tensor(env, OX_I32, 1, DIMS(1), &beams),
      tensor(env, OX_I32, 1, DIMS(1), &returns),
      tensor(env, OX_F32, 1, DIMS(1), &s->length_penalty),
      tensor(env, OX_F32, 1, DIMS(1), &s->repetition_penalty),
      tensor(env, OX_I32, 1, DIMS(LM_WORDS), vocabulary),
      tensor(env, OX_I32, 2, DIMS(BATCH, LM_WORDS), prefixes),
      tensor(env, OX_I32, 2, DIMS(BATCH, LENGTH), masks),
      tensor(env, OX_I32, 2, DIMS(BATCH, 2), start),
      tensor(env, OX_I32, 1, DIMS(1), &zero),
      tensor(env, OX_F32, 1, DIMS(1), &one),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), q->m->last),
      tensor(env, OX_F32, 2, DIMS(LM_POSITIONS, LM_WORDS), q->m->position),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), q->m->said),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), q->m->heard),
  };
  for (size_t i = 0; i < n_out; i++) out[i] = NULL;
  for (int again = 0; !st && again < 2; again++) { /* a second run finds the contexts of the first */
    for (size_t i = 0; i < n_out; i++) ox_value_release(out[i]), out[i] = NULL;
    st = ox_session_run(session, NULL, names, (const ox_value *const *)in, OX_COUNT(in), NULL, out, n_out);
  }
  for (size_t i = 0; i < OX_COUNT(in); i++) ox_value_release(in[i]);
  ox_session_release(session);
  return st;
}

static void check_entry(const question *q, int entry, ox_value *const *out) {
  const settings *s = q->s;
  const int32_t start[BATCH][2] = {{START, 3}, {START, 5}};
  text best[WIDEST];
  lm_context c = {0};
  bool gpt = q->m->kind == LM_GPT, whisper = q->m->kind == LM_WHISPER;
  if (gpt) c.n_prompt = LENGTH, c.mask = s->mask ? masks[entry] : NULL;
  if (whisper) c.features = q->features + entry * LM_WORDS * FRAMES, c.n_heard = FRAMES;
  if (!gpt && !whisper) c.heard = prompts[entry], c.n_heard = LENGTH, c.heard_mask = s->mask ? masks[entry] : NULL;
  search(s, q->m, &c, entry, gpt ? prompts[entry] : start[entry], gpt ? LENGTH : whisper ? 2 : 1, best);
  for (int r = 0; r < s->n_return; r++) {
    int at = entry * s->n_return + r;
    const int32_t *got = (const int32_t *)ox_value_data(out[0]) + at * MOST;
    for (int i = 0; i < MOST; i++)
      if (got[i] != (i < best[r].n ? best[r].ids[i] : LM_PAD))
        fail_msg("kind %d, %d beams, entry %d, text %d: token %d is %d", q->m->kind, s->beams, entry, r, i, got[i]);
    double score = (double)((const float *)ox_value_data(out[1]))[at];
    if (!(fabs(score - best[r].score) <= 1e-4 * fabs(best[r].score) + 1e-4))
      fail_msg("kind %d, %d beams, entry %d, text %d: score %g, wanted %g", q->m->kind, s->beams, entry, r, score,
               best[r].score);
  }
  /* the first step's scores */
  double first[LM_WORDS];
  text t = {.n = gpt ? LENGTH : whisper ? 2 : 1};
  memcpy(t.ids, gpt ? prompts[entry] : start[entry], (size_t)t.n * sizeof *t.ids);
  lm_scores(q->m, &c, t.ids, t.n, first);
  log_softmax(first);
  if (q->whisper_op) assert_true(fabs((double)((float *)ox_value_data(out[3]))[entry] - exp(first[4])) < 1e-5);
  adjust(s, &t, entry, true, first);
  for (int w = 0; w < LM_WORDS; w++) {
    double got = (double)((const float *)ox_value_data(out[2]))[entry * s->beams * LM_WORDS + w];
    assert_true(first[w] < -1e30 ? got < -1e30 : fabs(got - first[w]) <= 1e-4);
  }
}

static void test_all_kinds(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  float features[BATCH * LM_WORDS * FRAMES];
  for (size_t i = 0; i < OX_COUNT(features); i++) features[i] = (float)((int)(i * 37 % 23) - 11) / 9;
  for (lm_kind kind = 0; kind < LM_KINDS; kind++)
    for (size_t r = 0; r < OX_COUNT(rows); r++)
      for (unsigned seed = 0; seed < 6; seed++)
        for (int op = 0; op < (kind == LM_WHISPER ? 2 : 1); op++) {
          settings s = rows[r];
          lm m;
          if (kind == LM_WHISPER) s.mask = false;
          lm_make(&m, kind, seed + 10 * (unsigned)r);
          question q = {&s, &m, features, op, MOST};
          ox_value *out[4] = {NULL};
          CHECK_OK(ask(env, &q, op ? 4 : 3, out));
          for (int entry = 0; entry < BATCH; entry++) check_entry(&q, entry, out);
          for (size_t i = 0; i < OX_COUNT(out); i++) ox_value_release(out[i]);
        }
  ox_env_release(env);
}

static void test_nothing_to_say(void **state) {
  (void)state;
  ox_env *env;
  lm m;
  lm_make(&m, LM_GPT, 1);
  CHECK_OK(ox_env_create(NULL, &env));
  question q = {&rows[1], &m, NULL, false, LENGTH};
  ox_value *out[3];
  CHECK_OK(ask(env, &q, 3, out));
  for (int i = 0; i < BATCH * 2 * LENGTH; i++)
    assert_int_equal(((int32_t *)ox_value_data(out[0]))[i], prompts[i / LENGTH / 2][i % LENGTH]);
  assert_int_equal(ox_value_get(out[2])->shape.dim[0], 0);
  for (size_t i = 0; i < 3; i++) ox_value_release(out[i]);
  ox_env_release(env);
}

static void test_wrong_settings(void **state) {
  (void)state;
  static const struct {
    settings s;
    int32_t most;
    const char *text;
  } bad[] = {
      {{0, 1, 1, 0, 0, 1, 1, false, false, false, false}, MOST, "num_beams is 0"},
      {{2, 3, 1, 0, 0, 1, 1, false, false, false, false}, MOST, "num_return_sequences is 3"},
      {{2, 1, 1, 0, 0, 1, 1, false, false, false, false}, 2, "3 tokens are given"},
      {{2, 1, 1, 0, 0, 1, 0, false, false, false, false}, MOST, "repetition_penalty is 0"},
      {{2, 1, 1, 0, 99, 1, 1, false, false, false, false}, MOST, "min_length is 99"},
      {{5000, 1, 1, 0, 0, 1, 1, false, false, false, false}, MOST, "num_beams is 5000"},
  };
  ox_env *env;
  lm m;
  lm_make(&m, LM_GPT, 1);
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    question q = {&bad[i].s, &m, NULL, false, bad[i].most};
    ox_value *out[3];
    CHECK_FAILS(ask(env, &q, 3, out), OX_INVALID_ARGUMENT, bad[i].text);
  }
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_kinds),
      cmocka_unit_test(test_nothing_to_say),
      cmocka_unit_test(test_wrong_settings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
