/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_scores.c - see search_scores.h. */
#include "ops/search/search_scores.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

/* The score of a forbidden token: finite, as sums of scores are compared with each other. */
static const float forbidden = -FLT_MAX;

ox_status *ox_sequences_init(const ox_control_ctx *c, int64_t rows, int64_t most, ox_sequences *out) {
  int64_t n;
  if (!ox_mul_i64_ok(rows, most, &n))
    return ox_fail(OX_LIMIT, "%lld sequences of %lld", (long long)rows, (long long)most);
  *out = (ox_sequences){.rows = rows, .most = most};
  out->ids = ox_control_array(c, (size_t)n, sizeof *out->ids);
  out->spare = ox_control_array(c, (size_t)n, sizeof *out->spare);
  return out->ids && out->spare ? NULL : ox_oom();
}

void ox_sequences_append(ox_sequences *s, const int64_t *from, const int32_t *tokens) {
  for (int64_t r = 0; r < s->rows && from; r++)
    memcpy(s->spare + r * s->most, s->ids + from[r] * s->most, (size_t)s->length * sizeof *s->ids);
  if (from) {
    int32_t *old = s->ids;
    s->ids = s->spare, s->spare = old;
  }
  for (int64_t r = 0; r < s->rows; r++) s->ids[r * s->most + s->length] = tokens[r];
  s->length++;
}

/* Tokens of a prompt need not be in the vocabulary. */
static bool is_word(const ox_score_rules *r, int32_t token) { return token >= 0 && token < r->words; }

static void penalize_repetition(const ox_score_rules *r, const int32_t *ids, int64_t n, float *scores) {
  for (int64_t i = 0; i < n; i++) {
    if (!is_word(r, ids[i]) || r->seen[ids[i]]) continue;
    float *score = &scores[ids[i]];
    r->seen[ids[i]] = 1;
    *score = *score < 0 ? *score * r->repetition_penalty : *score / r->repetition_penalty;
  }
  for (int64_t i = 0; i < n; i++)
    if (is_word(r, ids[i])) r->seen[ids[i]] = 0;
}

/* Forbids repeated n-grams: tokens that have followed the last n - 1 tokens before. */
static void forbid_ngrams(const ox_score_rules *r, const int32_t *ids, int64_t n, float *scores) {
  int64_t size = r->no_repeat_ngram_size;
  const int32_t *tail = ids + n - (size - 1);
  for (int64_t i = 0; i + size <= n; i++) {
    int32_t next = ids[i + size - 1];
    if (is_word(r, next) && memcmp(ids + i, tail, (size_t)(size - 1) * sizeof *ids) == 0) scores[next] = forbidden;
  }
}

static void forbid_masked(const int32_t *mask, int64_t words, float *scores) {
  for (int64_t i = 0; i < words; i++)
    if (mask[i] == 0) scores[i] = forbidden;
}

static void forbid_range(float *scores, int64_t words, int64_t begin, int64_t end) {
  for (int64_t i = OX_MAX(begin, 0); i < OX_MIN(end, words); i++) scores[i] = forbidden;
}

/* The rules of timestamps: they come in pairs, do not decrease, and the first one is early. */
static void pace_timestamps(const ox_score_rules *r, const int32_t *ids, int64_t n, float *scores) {
  enum { MOST_INITIAL = 50 };
  const ox_timestamps *t = &r->timestamps;
  int64_t begin = 0, last = -1; /* begin: tokens up to the first timestamp, with it */
  while (begin < n && ids[begin++] < t->first) continue;
  const int64_t never[] = {t->no_timestamps, t->start_of_lm}, later[] = {t->start, t->translate, t->transcribe};
  for (size_t i = 0; i < OX_COUNT(never); i++) forbid_range(scores, r->words, never[i], never[i] + 1);
  for (size_t i = 0; i < OX_COUNT(later) && n > begin; i++) forbid_range(scores, r->words, later[i], later[i] + 1);
  bool last_is = n > 0 && ids[n - 1] >= t->first, before_is = n <= begin || ids[n - 2] >= t->first;
  if (last_is && before_is) forbid_range(scores, r->words, t->first, r->words);
  if (last_is && !before_is) forbid_range(scores, r->words, 0, r->eos);
  for (int64_t i = 0; i < n; i++)
    if (ids[i] >= t->first) last = ids[i];
  if (last >= 0) forbid_range(scores, r->words, t->first, last_is && !before_is ? last : last + 1);
  if (n == begin) forbid_range(scores, r->words, t->first + MOST_INITIAL + 1, r->words);
}

/* If the total probability of timestamps is above that of any other token, forbids all other tokens. */
static void prefer_timestamps(const ox_score_rules *r, float *scores) {
  float most_text = forbidden, most = forbidden;
  double sum = 0;
  int64_t first = OX_MIN(r->timestamps.first, r->words);
  for (int64_t i = 0; i < first; i++) most_text = OX_MAX(most_text, scores[i]);
  for (int64_t i = first; i < r->words; i++) most = OX_MAX(most, scores[i]);
  for (int64_t i = first; i < r->words; i++) sum += exp((double)scores[i] - (double)most);
  if (first < r->words && most > forbidden && (double)most + log(sum) > (double)most_text)
    forbid_range(scores, r->words, 0, first);
}

static void adjust_row(const ox_score_rules *r, const ox_sequences *s, int64_t row, bool first, float *scores) {
  const int32_t *ids = ox_sequence(s, row);
  int64_t batch = row / (s->rows / r->batch);
  if (r->repetition_penalty != 1) penalize_repetition(r, ids, s->length, scores);
  if (r->no_repeat_ngram_size > 0 && r->no_repeat_ngram_size <= s->length) forbid_ngrams(r, ids, s->length, scores);
  if (r->vocab_mask) forbid_masked(r->vocab_mask, r->words, scores);
  if (r->prefix_vocab_mask && first) forbid_masked(r->prefix_vocab_mask + batch * r->words, r->words, scores);
  if (s->length < r->min_length) forbid_range(scores, r->words, r->eos, r->eos + 1);
  for (int64_t i = 0; i < r->words && r->temperature != 1; i++) scores[i] /= r->temperature;
  for (int64_t i = 0; i < r->words && r->presence_mask; i++)
    scores[i] -= (float)r->presence_mask[batch * r->words + i] * r->presence_penalty;
  if (!r->timestamps.on) return;
  pace_timestamps(r, ids, s->length, scores);
  prefer_timestamps(r, scores);
}

void ox_search_adjust(const ox_score_rules *r, const ox_sequences *s, bool first, float *scores) {
  for (int64_t row = 0; row < s->rows; row++) adjust_row(r, s, row, first, scores + row * r->words);
}
