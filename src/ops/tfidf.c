/* SPDX-License-Identifier: Apache-2.0
 * ops/tfidf.c - TfIdfVectorizer: counts n-grams of a pool. At load the pool becomes a table of n-grams by hash. */
#include <string.h>

#include "base/map.h"
#include "ops/move/deferred.h"

typedef struct {
  const char *mode;
  int64_t min_gram_length, max_gram_length, max_skip_count;
  ox_ints ngram_counts, ngram_indexes, pool_int64s;
  ox_strs pool_strings;
  ox_floats weights;
} tfidf_attrs;
static const ox_attr_def attr_defs[] = {
    OX_ATTR_STR(tfidf_attrs, mode, NULL),
    OX_ATTR_INT_REQUIRED_IN(tfidf_attrs, min_gram_length, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(tfidf_attrs, max_gram_length, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(tfidf_attrs, max_skip_count, 0, OX_COUNT_MAX),
    OX_ATTR_INTS_REQUIRED_IN(tfidf_attrs, ngram_counts, 0, INT64_MAX),
    OX_ATTR_INTS_REQUIRED_IN(tfidf_attrs, ngram_indexes, 0, INT32_MAX - 1),
    OX_ATTR_INTS(tfidf_attrs, pool_int64s),
    OX_ATTR_STRS(tfidf_attrs, pool_strings),
    OX_ATTR_FLOATS(tfidf_attrs, weights),
};

/* One n-gram: |n| pool items from |at| on count for |column|. */
typedef struct gram {
  int64_t at, n, column;
} gram;

typedef struct tfidf_state {
  const tfidf_attrs *attrs;
  gram *grams;
  uint32_t *slots; /* open addressing: index + 1 of a gram */
  size_t mask;
  uint64_t longest; /* n */
} tfidf_state;

static int64_t columns_of(const tfidf_attrs *a) {
  int64_t most = -1;
  for (size_t i = 0; i < a->ngram_indexes.n; i++) most = OX_MAX(most, a->ngram_indexes.v[i]);
  return most + 1;
}

static ox_status *check(const tfidf_attrs *a) {
  if (!a->mode || (strcmp(a->mode, "TF") != 0 && strcmp(a->mode, "IDF") != 0 && strcmp(a->mode, "TFIDF") != 0))
    return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: unknown mode '%s'", a->mode ? a->mode : "");
  if (a->max_gram_length < a->min_gram_length)
    return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: n-grams of %lld to %lld", (long long)a->min_gram_length,
                   (long long)a->max_gram_length);
  if (!a->pool_int64s.n == !a->pool_strings.n)
    return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: wanted one of pool_int64s and pool_strings");
  if (a->ngram_counts.n < (size_t)a->min_gram_length || a->ngram_counts.n < (size_t)a->max_gram_length)
    return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: %zu ngram_counts, n-grams up to %lld", a->ngram_counts.n,
                   (long long)a->max_gram_length);
  if (a->weights.n && a->weights.n != a->ngram_indexes.n)
    return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: %zu weights for %zu n-grams", a->weights.n, a->ngram_indexes.n);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const tfidf_attrs *a = c->attrs;
  OX_TRY(check(a));
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  if (s.rank > 2) return ox_fail(OX_SHAPE_MISMATCH, "TfIdfVectorizer: input has rank %d, wanted 1 or 2", s.rank);
  if (s.rank == 0) s.rank = 1;
  if (s.rank > 0) s.dim[s.rank - 1] = columns_of(a);
  ox_infer_out(c, 0, OX_F32, &s);
  return NULL;
}

static uint64_t hash_int(uint64_t h, int64_t v) { return ox_hash(&v, sizeof v, h); }
static uint64_t hash_str(uint64_t h, ox_str s) { return ox_hash(s.p, s.n, h + 1); }

static uint64_t pool_hash(const tfidf_attrs *a, const gram *g) {
  uint64_t h = 0;
  for (int64_t i = 0; i < g->n; i++)
    h = a->pool_strings.n ? hash_str(h, a->pool_strings.v[g->at + i]) : hash_int(h, a->pool_int64s.v[g->at + i]);
  return h;
}

static ox_status *load(ox_load_ctx *c) {
  const tfidf_attrs *a = c->attrs;
  tfidf_state *s = OX_LOAD_NEW(c, tfidf_state);
  int64_t items = (int64_t)OX_MAX(a->pool_int64s.n, a->pool_strings.n), n_grams = 0;
  if (!s) return ox_oom();
  size_t slots = 16;
  while (slots < 2 * a->ngram_indexes.n) slots *= 2;
  s->attrs = a, s->mask = slots - 1;
  s->grams = OX_LOAD_ARRAY(c, gram, OX_MAX(a->ngram_indexes.n, 1));
  s->slots = OX_LOAD_ARRAY(c, uint32_t, slots);
  if (!s->grams || !s->slots) return ox_oom();
  for (size_t n = 1; n <= a->ngram_counts.n; n++) {
    int64_t at = a->ngram_counts.v[n - 1], end = n < a->ngram_counts.n ? a->ngram_counts.v[n] : items;
    if (at < 0 || end < at || end > items || (end - at) % (int64_t)n)
      return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: %zu-grams from %lld to %lld of a pool of %lld", n,
                     (long long)at, (long long)end, (long long)items);
    for (; at < end; at += (int64_t)n, n_grams++) {
      if ((size_t)n_grams >= a->ngram_indexes.n)
        return ox_fail(OX_INVALID_MODEL, "TfIdfVectorizer: more n-grams than ngram_indexes (%zu)", a->ngram_indexes.n);
      gram *g = &s->grams[n_grams];
      *g = (gram){at, (int64_t)n, a->ngram_indexes.v[n_grams]};
      if ((int64_t)n < a->min_gram_length || (int64_t)n > a->max_gram_length) continue;
      size_t k = pool_hash(a, g) & s->mask;
      while (s->slots[k]) k = (k + 1) & s->mask;
      s->slots[k] = (uint32_t)n_grams + 1;
      s->longest = n;
    }
  }
  c->state = s;
  return NULL;
}

static bool same_gram(const tfidf_state *s, const gram *g, const ox_tensor *x, int64_t at, int64_t step) {
  const tfidf_attrs *a = s->attrs;
  for (int64_t i = 0; i < g->n; i++, at += step) {
    if (x->dtype == OX_STRING) {
      ox_str p = a->pool_strings.v[g->at + i], q = ((const ox_str *)x->data)[at];
      if (p.n != q.n || (p.n && memcmp(p.p, q.p, p.n) != 0)) return false;
    } else if (a->pool_int64s.v[g->at + i] != ox_int_at(x, at)) {
      return false;
    }
  }
  return true;
}

static void count_gram(const tfidf_state *s, float *row, int64_t column) {
  const tfidf_attrs *a = s->attrs;
  float w = (size_t)column < a->weights.n ? a->weights.v[column] : 1.0f;
  if (strcmp(a->mode, "TF") == 0)
    row[column] += 1;
  else if (strcmp(a->mode, "IDF") == 0)
    row[column] = w;
  else
    row[column] += w;
}

/* All n-grams of one row [begin, end) of |x|. Runs of one item do not depend on the skip: counted once. */
static void count_row(const tfidf_state *s, const ox_tensor *x, int64_t begin, int64_t end, float *row) {
  const tfidf_attrs *a = s->attrs;
  for (int64_t step = 1; step <= a->max_skip_count + 1 && step <= end - begin; step++)
    for (int64_t from = begin; from < end; from++) {
      uint64_t h = 0;
      int64_t at = from;
      for (int64_t n = 1; n <= (int64_t)s->longest && at < end; n++, at += step) {
        h = x->dtype == OX_STRING ? hash_str(h, ((const ox_str *)x->data)[at]) : hash_int(h, ox_int_at(x, at));
        if (n < a->min_gram_length || (n == 1 && step > 1)) continue;
        for (size_t k = h & s->mask; s->slots[k]; k = (k + 1) & s->mask) {
          const gram *g = &s->grams[s->slots[k] - 1];
          if (g->n == n && same_gram(s, g, x, from, step)) count_gram(s, row, g->column);
        }
      }
    }
}

static int64_t rows_of(const ox_tensor *x) { return x->shape.rank == 2 ? x->shape.dim[0] : 1; }

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_tensor *x = c->in[0];
  const tfidf_attrs *a = c->attrs;
  if ((x->dtype == OX_STRING) != (a->pool_strings.n > 0))
    return ox_fail(OX_SHAPE_MISMATCH, "TfIdfVectorizer: the pool does not hold %ss", ox_dtype_name(x->dtype));
  return ox_ctx_plan(c, rows_of(x), 0);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_tensor *x = c->in[0];
  int64_t rows = rows_of(x), columns = columns_of(c->attrs), length = rows ? ox_shape_count(&x->shape) / rows : 0;
  for (int64_t r = tiles.begin; r < tiles.end; r++) {
    float *row = (float *)c->out[0]->data + r * columns;
    if (columns) memset(row, 0, (size_t)columns * sizeof *row);
    count_row(c->state, x, r * length, (r + 1) * length, row);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "TfIdfVectorizer", .since = 9, .types = {OX_BIT(OX_STRING) | OX_T_INDEX}, .min_in = 1,
               .max_in = 1, OX_ATTRS(attr_defs), .attrs_bytes = sizeof(tfidf_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_tfidf = {ops, OX_COUNT(ops)};
