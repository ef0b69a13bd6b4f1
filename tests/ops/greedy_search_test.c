/* SPDX-License-Identifier: Apache-2.0
 * ops/greedy_search_test.c - GreedySearch and Sampling against a search that keeps whole texts; ONNX Runtime 1.31
 * agrees with it wherever chance has no part. Of what is drawn the tests know what cannot be, and how often is what. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"
#include "support/tiny_lm.h"

enum { BATCH = 2, LENGTH = 3, MOST = 11, START = 6 };
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const int32_t prompts[BATCH][LENGTH] = {{0, 4, 5}, {3, 7, 2}}, masks[BATCH][LENGTH] = {{0, 1, 1}, {1, 0, 1}};
static const int32_t vocabulary[LM_WORDS] = {0, 1, 1, 1, 1, 1, 0, 1};
static const int32_t prefixes[BATCH][LM_WORDS] = {{1, 0, 1, 1, 0, 1, 1, 1}, {1, 1, 1, 0, 1, 0, 1, 1}};
static const int32_t presence[BATCH][LM_WORDS] = {{1, 0, 1, 1, 0, 1, 0, 0}, {0, 1, 1, 0, 0, 2, 1, 1}};

typedef struct settings {
  int eos, no_repeat, min_length;
  float repetition_penalty;
  bool vocab_mask, prefix_mask, mask;
  /* Sampling, if top_p is not 0 */
  bool custom, presence;
  float top_p, temperature;
} settings;

static ox_value *tensor(ox_env *env, uint32_t dtype, size_t rank, const int64_t *dims, const void *data) {
  ox_value *v;
  CHECK_OK(ox_value_create(env, dtype, dims, rank, &v));
  memcpy(ox_value_data(v), data, ox_value_get(v)->bytes);
  return v;
}

static ox_status *ask(ox_env *env, const settings *s, const lm *m, int32_t most, int32_t seed, const char *more,
                      ox_value **out) {
  static const char *const names[] = {"ids",      "most", "least", "repeat",   "vocab", "prefix", "mask",
                                      "presence", "seed", "last",  "position", "said",  "heard"};
  static const char declared[] =
      "int32[B,S] ids, int32[1] most, int32[1] least, float[1] repeat, int32[8] vocab, int32[B,8] prefix, "
      "int32[B,S] mask, int32[B,8] presence, int32[1] seed";
  bool sampling = s->top_p != 0;
  const int32_t least = s->min_length;
  char attrs[300], inputs[200];
  int n = snprintf(attrs, sizeof attrs, "eos_token_id = %d, pad_token_id = 0, no_repeat_ngram_size = %d%s", s->eos,
                   s->no_repeat, more);
  if (sampling)
    snprintf(attrs + n, sizeof attrs - (size_t)n,
             ", custom = %d, top_p = %.9f, temperature = %.9f, presence_penalty = 0.5, min_tokens_to_keep = 1",
             s->custom, (double)s->top_p, (double)s->temperature);
  snprintf(inputs, sizeof inputs, "ids, most, least, repeat, %s, %s, %s%s", s->vocab_mask ? "vocab" : "",
           s->prefix_mask ? "prefix" : "", s->mask ? "mask" : "",
           !sampling     ? ""
           : s->presence ? ", presence, seed"
                         : ", , seed");
  if (m->kind != LM_GPT) {
    n = (int)strlen(attrs);
    snprintf(attrs + n, sizeof attrs - (size_t)n, ", model_type = 1, decoder_start_token_id = %d", START);
  }
  char *model = lm_text(m->kind, sampling ? "Sampling" : "GreedySearch", attrs, declared, inputs,
                        sampling ? "int32[B,M] y0, float[B,8] y1" : "int32[B,M] y0", sampling ? "y0, y1" : "y0");
  ox_session *session = NULL;
  assert_non_null(model);
  out[0] = out[1] = NULL;
  ox_status *st = text_session(env, model, NULL, &session);
  free(model);
  if (st) return st;
  ox_value *in[] = {
      tensor(env, OX_I32, 2, DIMS(BATCH, LENGTH), prompts),
      tensor(env, OX_I32, 1, DIMS(1), &most),
      tensor(env, OX_I32, 1, DIMS(1), &least),
      tensor(env, OX_F32, 1, DIMS(1), &s->repetition_penalty),
      tensor(env, OX_I32, 1, DIMS(LM_WORDS), vocabulary),
      tensor(env, OX_I32, 2, DIMS(BATCH, LM_WORDS), prefixes),
      tensor(env, OX_I32, 2, DIMS(BATCH, LENGTH), masks),
      tensor(env, OX_I32, 2, DIMS(BATCH, LM_WORDS), presence),
      tensor(env, OX_I32, 1, DIMS(1), &seed),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), m->last),
      tensor(env, OX_F32, 2, DIMS(LM_POSITIONS, LM_WORDS), m->position),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), m->said),
      tensor(env, OX_F32, 2, DIMS(LM_WORDS, LM_WORDS), m->heard),
  };
  st = ox_session_run(session, NULL, names, (const ox_value *const *)in, OX_COUNT(in), NULL, out, sampling ? 2 : 1);
  for (size_t i = 0; i < OX_COUNT(in); i++) ox_value_release(in[i]);
  ox_session_release(session);
  return st;
}

/* ---- the search that keeps whole texts ---- */

/* Tokens that a text begins with. */
static int given(const lm *m) { return m->kind == LM_GPT ? LENGTH : 1; }

static void scores_of(const settings *s, const lm *m, int entry, const int32_t *ids, int n, double *scores) {
  lm_context c = {.n_prompt = LENGTH, .mask = s->mask ? masks[entry] : NULL};
  if (m->kind != LM_GPT)
    c = (lm_context){.heard = prompts[entry], .heard_mask = s->mask ? masks[entry] : NULL, .n_heard = LENGTH};
  lm_scores(m, &c, ids, n, scores);
  for (int w = 0; w < LM_WORDS; w++) {
    bool said = false, again = false;
    for (int i = 0; i < n; i++) said = said || ids[i] == w;
    for (int i = 0; s->no_repeat && i + s->no_repeat <= n; i++)
      again = again || (ids[i + s->no_repeat - 1] == w &&
                        memcmp(ids + i, ids + n - s->no_repeat + 1, (size_t)(s->no_repeat - 1) * sizeof *ids) == 0);
    if (said) scores[w] *= scores[w] < 0 ? (double)s->repetition_penalty : 1 / (double)s->repetition_penalty;
    bool masked = (s->vocab_mask && !vocabulary[w]) || (s->prefix_mask && n == given(m) && !prefixes[entry][w]);
    if (again || masked || (n < s->min_length && w == s->eos)) scores[w] = -(double)FLT_MAX;
    if (s->top_p == 0) continue;
    scores[w] /= (double)s->temperature;
    if (s->presence) scores[w] -= 0.5 * presence[entry][w];
  }
}

static int best_of(const double *scores) {
  int best = 0;
  for (int w = 1; w < LM_WORDS; w++)
    if (scores[w] > scores[best]) best = w;
  return best;
}

static void check_greedy(const settings *s, const lm *m, int entry, const int32_t *got) {
  int32_t ids[MOST];
  bool ended = false;
  memcpy(ids, prompts[entry], sizeof prompts[entry]);
  if (m->kind != LM_GPT) ids[0] = START;
  for (int n = given(m); n < MOST; n++) {
    double scores[LM_WORDS];
    scores_of(s, m, entry, ids, n, scores);
    int token = best_of(scores);
    ended = ended || token == s->eos;
    ids[n] = ended ? LM_PAD : token;
  }
  for (int i = 0; i < MOST; i++)
    if (got[i] != ids[i]) fail_msg("model %d, entry %d: token %d is %d, wanted %d", m->kind, entry, i, got[i], ids[i]);
}

static const settings rows[] = {
    {1, 0, 0, 1, false, false, false, false, false, 0, 0},   {5, 2, 7, 1.5f, true, false, false, false, false, 0, 0},
    {3, 0, 0, 0.75f, false, true, true, false, false, 0, 0}, {2, 3, 5, 1.25f, true, true, true, false, false, 0, 0},
    {100, 0, 0, 1, false, false, false, false, false, 0, 0},
};

static void test_greedy(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t r = 0; r < OX_COUNT(rows); r++)
    for (unsigned seed = 0; seed < 12; seed++) {
      lm m;
      ox_value *out[2];
      lm_make(&m, seed % LM_WHISPER, seed + 20 * (unsigned)r);
      CHECK_OK(ask(env, &rows[r], &m, MOST, 0, "", out));
      for (int entry = 0; entry < BATCH; entry++)
        check_greedy(&rows[r], &m, entry, (const int32_t *)ox_value_data(out[0]) + entry * MOST);
      ox_value_release(out[0]);
    }
  ox_env_release(env);
}

/* Only the likeliest token is left: no chance. */
static void test_sampling_of_one(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t r = 0; r < OX_COUNT(rows); r++)
    for (unsigned seed = 0; seed < 12; seed++) {
      lm m;
      ox_value *out[2];
      settings s = rows[r];
      s.top_p = 1e-6f, s.temperature = 0.75f, s.custom = seed & 1, s.presence = seed & 2;
      lm_make(&m, seed / 4 % LM_WHISPER, seed + 20 * (unsigned)r);
      CHECK_OK(ask(env, &s, &m, MOST, (int32_t)seed, "", out));
      for (int entry = 0; entry < BATCH; entry++)
        check_greedy(&s, &m, entry, (const int32_t *)ox_value_data(out[0]) + entry * MOST);
      ox_value_release(out[0]), ox_value_release(out[1]);
    }
  ox_env_release(env);
}

/* How likely each word is to be drawn next: those that are left share the chance. */
static void chances_of(const settings *s, const lm *m, int entry, bool *left, double *chance) {
  double scores[LM_WORDS], sum = 0, above;
  scores_of(s, m, entry, prompts[entry], LENGTH, scores);
  for (int w = 0; w < LM_WORDS; w++) sum += chance[w] = exp(scores[w]);
  for (int w = 0; w < LM_WORDS; w++) chance[w] /= sum;
  sum = 0;
  for (int w = 0; w < LM_WORDS; w++) {
    above = 0; /* the likelier ones together; with itself and below, the usual way */
    for (int v = 0; v < LM_WORDS; v++) above += chance[v] > chance[w] ? chance[v] : 0;
    left[w] = above <= 1e-9 || (s->custom ? above <= (double)s->top_p : above < (double)s->top_p);
    sum += left[w] ? chance[w] : 0;
  }
  for (int w = 0; w < LM_WORDS; w++) chance[w] = left[w] ? chance[w] / sum : 0;
}

static void test_draws_are_fair(void **state) {
  (void)state;
  enum { RUNS = 1500 };
  static const settings forms[] = {{100, 0, 0, 1, false, false, false, false, false, 0.75f, 1},
                                   {100, 0, 0, 1, false, false, false, true, true, 0.5f, 2}};
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t f = 0; f < OX_COUNT(forms); f++) {
    int seen[BATCH][LM_WORDS] = {{0}};
    lm m;
    lm_make(&m, LM_GPT, 3);
    for (int run = 0; run < RUNS; run++) {
      ox_value *out[2];
      CHECK_OK(ask(env, &forms[f], &m, LENGTH + 1, run, "", out));
      for (int entry = 0; entry < BATCH; entry++) {
        bool left[LM_WORDS];
        double chance[LM_WORDS];
        const float *logits = (const float *)ox_value_data(out[1]) + entry * LM_WORDS;
        chances_of(&forms[f], &m, entry, left, chance);
        for (int w = 0; w < LM_WORDS && run == 0; w++) assert_int_equal(logits[w] != -1e20f, left[w]);
        seen[entry][((const int32_t *)ox_value_data(out[0]))[entry * (LENGTH + 1) + LENGTH]]++;
      }
      ox_value_release(out[0]), ox_value_release(out[1]);
    }
    for (int entry = 0; entry < BATCH; entry++) {
      bool left[LM_WORDS];
      double chance[LM_WORDS];
      chances_of(&forms[f], &m, entry, left, chance);
      for (int w = 0; w < LM_WORDS; w++) { /* five standard deviations */
        double wanted = RUNS * chance[w], off = 5 * sqrt(RUNS * chance[w] * (1 - chance[w]));
        if (fabs(seen[entry][w] - wanted) > off)
          fail_msg("form %zu, entry %d: word %d came %d times, wanted %g", f, entry, w, seen[entry][w], wanted);
      }
    }
  }
  ox_env_release(env);
}

static void test_seeds(void **state) {
  (void)state;
  static const settings s = {100, 0, 0, 1, false, false, false, false, false, 0.95f, 2};
  ox_env *env;
  lm m;
  ox_value *a[2], *b[2], *c[2];
  lm_make(&m, LM_GPT, 3);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ask(env, &s, &m, MOST, 7, "", a));
  CHECK_OK(ask(env, &s, &m, MOST, 7, "", b));
  CHECK_OK(ask(env, &s, &m, MOST, 8, "", c));
  size_t bytes = ox_value_get(a[0])->bytes;
  assert_memory_equal(ox_value_data(a[0]), ox_value_data(b[0]), bytes);
  assert_memory_not_equal(ox_value_data(a[0]), ox_value_data(c[0]), bytes);
  for (int i = 0; i < 2; i++) ox_value_release(a[i]), ox_value_release(b[i]), ox_value_release(c[i]);
  ox_env_release(env);
}

static void test_wrong_settings(void **state) {
  (void)state;
  ox_env *env;
  lm m;
  ox_value *out[2];
  settings s = rows[0];
  lm_make(&m, LM_GPT, 3);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_FAILS(ask(env, &s, &m, 2, 0, "", out), OX_INVALID_ARGUMENT, "3 tokens are given");
  CHECK_FAILS(ask(env, &s, &m, 0, 0, "", out), OX_INVALID_ARGUMENT, "max_length is 0");
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, ", model_type = 2", out), OX_INVALID_MODEL, "model_type is 2");
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, ", model_type = 1", out), OX_INVALID_MODEL, "decoder_start_token_id is -1");
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, ", model_type = 1, decoder_start_token_id = 1", out), OX_INVALID_MODEL,
              "the encoder is missing");
  s.repetition_penalty = -1;
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, "", out), OX_INVALID_ARGUMENT, "repetition_penalty is -1");
  s = rows[3];
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, ", vocab_size = 7", out), OX_SHAPE_MISMATCH, "vocab_mask");
  s = rows[0];
  CHECK_FAILS(ask(env, &s, &m, MOST, 0, ", vocab_size = 9", out), OX_SHAPE_MISMATCH, "9 words");
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedy), cmocka_unit_test(test_sampling_of_one), cmocka_unit_test(test_draws_are_fair),
      cmocka_unit_test(test_seeds),  cmocka_unit_test(test_wrong_settings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
