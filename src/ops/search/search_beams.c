/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_beams.c - see search_beams.h. */
#include "ops/search/search_beams.h"

#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

ox_status *ox_beams_init(const ox_control_ctx *c, int64_t most, ox_beams *b) {
  int64_t rows = b->batch * b->width, n;
  if (!ox_mul_i64_ok(rows, most, &n)) return ox_fail(OX_LIMIT, "%lld beams of %lld", (long long)rows, (long long)most);
  int32_t *ids = ox_control_array(c, (size_t)n, sizeof *ids);
  b->best = ox_control_array(c, (size_t)rows, sizeof *b->best);
  b->n_best = ox_control_array(c, (size_t)b->batch, sizeof *b->n_best);
  b->done = ox_control_array(c, (size_t)b->batch, sizeof *b->done);
  b->top = ox_control_array(c, (size_t)b->width * 2, sizeof *b->top);
  b->sum = ox_control_array(c, (size_t)rows, sizeof *b->sum);
  b->token = ox_control_array(c, (size_t)rows, sizeof *b->token);
  b->from = ox_control_array(c, (size_t)rows, sizeof *b->from);
  if (!ids || !b->best || !b->n_best || !b->done || !b->top || !b->sum || !b->token || !b->from) return ox_oom();
  for (int64_t r = 0; r < rows; r++) {
    b->best[r].ids = ids + r * most;
    b->sum[r] = r % b->width
                    ? -1e9f
                    : 0; /* the beams of an entry begin with the same tokens: only the first counts in the first step */
  }
  return NULL;
}

/* The |k| largest of |n|, in order; of equal ones the first. Returns how many there are: NaN is none. */
static int64_t largest(const float *x, int64_t n, int64_t k, ox_candidate *out) {
  int64_t have = 0;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] != x[i] || (have == k && x[i] <= out[k - 1].score)) continue;
    int64_t at = have < k ? have++ : k - 1;
    for (; at > 0 && out[at - 1].score < x[i]; at--) out[at] = out[at - 1];
    out[at] = (ox_candidate){x[i], i};
  }
  return have;
}

static void keep(ox_beams *b, int64_t entry, const int32_t *ids, int64_t length, float sum) {
  ox_hypothesis *best = b->best + entry * b->width;
  int64_t *n = &b->n_best[entry], at;
  float score = sum / powf((float)length, b->length_penalty);
  if (*n == b->width && !(score > best[*n - 1].score)) return;
  if (*n < b->width) ++*n;
  ox_hypothesis h = {best[*n - 1].ids, length, score}; /* takes the place of the worst */
  for (at = *n - 1; at > 0 && best[at - 1].score < score; at--) best[at] = best[at - 1];
  best[at] = h;
  if (length) memcpy(h.ids, ids, (size_t)length * sizeof *ids);
}

/* Can no unfinished beam become better than the worst finished one? */
static bool is_done(const ox_beams *b, int64_t entry, int64_t length) {
  if (b->n_best[entry] < b->width) return false;
  if (b->early_stopping) return true;
  return b->best[(entry + 1) * b->width - 1].score >= b->top[0].score / powf((float)length, b->length_penalty);
}

static ox_status *choose_entry(ox_beams *b, const ox_sequences *s, int64_t entry, const float *scores) {
  int64_t first = entry * b->width, next = first, k = 2 * b->width;
  int64_t n = largest(scores + first * b->words, b->width * b->words, k, b->top);
  for (int64_t i = 0; i < n && next < first + b->width; i++) {
    int64_t row = first + b->top[i].at / b->words;
    int32_t token = (int32_t)(b->top[i].at % b->words);
    if (token == b->eos) {
      if (i < b->width) keep(b, entry, ox_sequence(s, row), s->length, b->top[i].score);
      continue;
    }
    b->sum[next] = b->top[i].score, b->token[next] = token, b->from[next++] = row;
  }
  if (next < first + b->width)
    return ox_fail(OX_INVALID_ARGUMENT, "%lld beams have only %lld ways to go on", (long long)b->width,
                   (long long)(next - first));
  b->done[entry] = is_done(b, entry, s->length);
  return NULL;
}

ox_status *ox_beams_choose(ox_beams *b, const ox_sequences *s, const float *scores, bool *done) {
  *done = true;
  for (int64_t e = 0; e < b->batch; e++) {
    for (int64_t r = e * b->width; r < (e + 1) * b->width && b->done[e]; r++)
      b->sum[r] = 0, b->token[r] = b->pad, b->from[r] = 0; /* as in ONNX Runtime: visible in the output scores */
    if (!b->done[e]) OX_TRY(choose_entry(b, s, e, scores));
    *done = *done && b->done[e];
  }
  return NULL;
}

void ox_beams_finish(ox_beams *b, const ox_sequences *s) {
  for (int64_t r = 0; r < b->batch * b->width; r++)
    if (!b->done[r / b->width]) keep(b, r / b->width, ox_sequence(s, r), s->length, b->sum[r]);
}
