/* SPDX-License-Identifier: Apache-2.0
 * ops/ml/ml_trees.c - runs loaded tree ensembles. Many rows: tiles of rows, each through all trees. Few rows: tiles of
 * trees that note the leaves they reach, then a second stage that adds them up in order. Both give the same bits. */
#include "ops/ml/ml_trees.h"

#include <string.h>

#include "base/cksize.h"

enum { TILE_WALKS = 4096, TREE_BLOCK = 512, MOST_SCRATCH = 512 * 1024 };

typedef struct trees_prep {
  int64_t rows, features, tile_rows, tree_blocks;
  size_t item;                                       /* of the trees' type */
  bool converts;                                     /* X has another type */
  size_t x_bytes, score_bytes, has_bytes, row_bytes; /* scratch, in this order */
} trees_prep;

ox_status *ox_ml_rows(const ox_shape *x, int64_t *rows, int64_t *features) {
  *rows = *features = -1;
  if (x->rank < 0) return NULL;
  if (x->rank < 1 || x->rank > 2) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "X must be [rows, features] or [features], got %s", ox_shape_text(x, text));
  }
  *rows = x->rank == 1 ? 1 : x->dim[0];
  *features = x->dim[x->rank - 1];
  return NULL;
}

ox_status *ox_ml_trees_create(ox_load_ctx *c, ml_trees **out) {
  if (!(*out = OX_LOAD_NEW(c, ml_trees))) return ox_oom();
  ox_arena_init(&(*out)->arena, c->alloc);
  return NULL;
}

/* ---- prepare ---- */
/* Scratch of a tile of |rows| rows. False on overflow. */
static bool size_scratch(trees_prep *p, int64_t rows, int64_t targets, size_t *total) {
  size_t r = (size_t)rows, n, bytes;
  if (!ox_mul_ok(r, p->converts ? (size_t)p->features : 0, &n) || !ox_mul_ok(n, p->item, &p->x_bytes)) return false;
  if (!ox_mul_ok(r, (size_t)targets, &n) || !ox_mul_ok(n, p->item, &p->score_bytes)) return false;
  if (n > SIZE_MAX / 2 || p->x_bytes > SIZE_MAX / 4 || p->score_bytes > SIZE_MAX / 4) return false;
  p->x_bytes = OX_ROUND_UP(p->x_bytes, OX_ALIGN_BYTES);
  p->score_bytes = OX_ROUND_UP(p->score_bytes, OX_ALIGN_BYTES);
  p->has_bytes = OX_ROUND_UP(n, OX_ALIGN_BYTES);
  p->row_bytes = OX_MAX((size_t)targets, 2) * sizeof(double);
  return ox_add_ok(p->x_bytes, p->score_bytes, &bytes) && ox_add_ok(bytes, p->has_bytes, &bytes) &&
         ox_add_ok(bytes, p->row_bytes, total);
}

ox_status *ox_ml_trees_prepare(ox_kernel_ctx *c) {
  const ml_trees *m = c->state;
  const ox_trees *t = &m->t;
  trees_prep *p = ox_ctx_alloc(c, sizeof *p);
  size_t scratch, leaves;
  if (!p) return ox_oom();
  c->prep = p;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &p->rows, &p->features));
  if (p->features < t->n_features)
    return ox_fail(OX_SHAPE_MISMATCH, "X has %lld features, the trees read %u", (long long)p->features,
                   (unsigned)t->n_features);
  p->item = t->f64 ? sizeof(double) : sizeof(float);
  p->converts = c->in[0]->dtype != (t->f64 ? OX_F64 : OX_F32);
  p->tile_rows = OX_MAX(TILE_WALKS / OX_MAX((int64_t)t->n_trees, 1), OX_TREE_LANES) & ~(OX_TREE_LANES - 1);
  for (;; p->tile_rows /= 2) {
    if (!size_scratch(p, p->tile_rows, t->n_targets, &scratch)) return ox_fail(OX_OUT_OF_MEMORY, "scores overflow");
    if (scratch <= MOST_SCRATCH || p->tile_rows <= OX_TREE_LANES) break;
  }
  if (p->rows >= OX_TREE_LANES) return ox_ctx_plan(c, OX_CEIL_DIV(p->rows, p->tile_rows), scratch);
  p->tree_blocks = OX_CEIL_DIV((int64_t)t->n_trees, TREE_BLOCK);
  if (!ox_mul_ok((size_t)p->rows * sizeof(uint32_t), t->n_trees, &leaves))
    return ox_fail(OX_OUT_OF_MEMORY, "too many trees");
  c->n_stages = 2, c->n_tiles[0] = p->rows * p->tree_blocks, c->n_tiles[1] = 1;
  c->scratch_per_worker = scratch, c->shared_bytes = OX_MAX(leaves, 1);
  return NULL;
}

/* ---- from sums to scores ---- */
/* Sums in the trees' precision. */
static double add(const ox_trees *t, double a, double b) { return t->f64 ? a + b : (double)((float)a + (float)b); }
static double divide(const ox_trees *t, double a, double b) { return t->f64 ? a / b : (double)((float)a / (float)b); }

static void regress_row(const ml_trees *m, const uint8_t *has, double *s) {
  const ox_trees *t = &m->t;
  for (int64_t k = 0; k < t->n_targets; k++) {
    if (t->aggregate == OX_TREE_AVERAGE) s[k] = divide(t, s[k], t->n_trees);
    if (!has[k] && t->aggregate >= OX_TREE_MIN) s[k] = 0;
    if ((int64_t)m->n_base == t->n_targets) s[k] = add(t, s[k], m->base[k]);
    if (!has[k] && t->n_targets > 1) s[k] = 0; /* base_values are added only where some tree gave a score */
  }
  /* with one target only the probit applies: a softmax of one value would always be 1 */
  ox_ml_scores_write(s, t->n_targets, m->transform, OX_ML_ONE, s);
}

/* The class of a binary classifier, decided by the sign, or the probability, of the positive class's score. */
static int64_t decide(const ml_trees *m, double positive, ox_ml_second *second) {
  bool complement = m->binary && m->all_positive;
  if (m->binary) *second = complement ? OX_ML_COMPLEMENT : OX_ML_NEGATE;
  return positive > (complement ? 0.5 : 0);
}

static int64_t classify_many(const ml_trees *m, uint8_t *has, double *s) {
  const ox_trees *t = &m->t;
  int64_t best = -1;
  for (size_t k = 0; k < m->n_base; k++) s[k] = has[k] ? add(t, s[k], m->base[k]) : m->base[k], has[k] = 1;
  for (int64_t k = 0; k < t->n_targets; k++)
    if (has[k] && (best < 0 || s[k] > s[best])) best = k;
  ox_ml_scores_write(s, t->n_targets, m->transform, OX_ML_ONE, s);
  return OX_MAX(best, 0);
}

static int64_t classify_two(const ml_trees *m, uint8_t *has, double *s) {
  const ox_trees *t = &m->t;
  ox_ml_second second = OX_ML_ONE;
  int64_t n = 2;
  if (m->n_base == 2 && has[1]) { /* base_values[0] is not used: both classes share one margin */
    s[1] = add(t, m->base[1], s[0]), s[0] = -s[1];
  } else if (m->n_base == 2) {
    s[0] = add(t, s[0], m->base[0]);
  } else {
    if (m->n_base == 1)
      s[0] = add(t, s[0], m->base[0]);
    else
      second = OX_ML_NEGATE;
    n = has[1] ? 2 : 1;
  }
  int64_t label = decide(m, has[1] ? s[1] : has[0] ? s[0] : 0, &second);
  for (int64_t k = 0; k < n && n > 1; k++) s[k] = has[k] ? s[k] : 0; /* no tree gave a score for that class */
  ox_ml_scores_write(s, n, m->transform, second, s);
  return label;
}

static int64_t classify_row(const ml_trees *m, uint8_t *has, double *s) {
  if (m->t.n_targets > 2) return classify_many(m, has, s);
  if (m->t.n_targets == 2) return classify_two(m, has, s);
  if (m->n_base == 1) s[0] = add(&m->t, s[0], m->base[0]);
  int64_t label = s[0] > 0;
  ox_ml_scores_write(s, 1, m->transform, OX_ML_ONE, s);
  return label;
}

static void put_label(const ml_trees *m, const ox_tensor *y, int64_t row, int64_t label) {
  if (m->str_labels.n)
    ((ox_str *)y->data)[row] = m->str_labels.v[OX_MIN((size_t)label, m->str_labels.n - 1)];
  else
    ((int64_t *)y->data)[row] = (size_t)label < m->int_labels.n ? m->int_labels.v[label] : label;
}

static void put_scores(const ox_tensor *z, int64_t row, int64_t n, const double *s) {
  if (z->dtype == OX_F32) {
    for (int64_t k = 0; k < n; k++) ((float *)z->data)[row * n + k] = (float)s[k];
  } else if (z->dtype == OX_F64) {
    memcpy((double *)z->data + row * n, s, (size_t)n * sizeof *s);
  } else {
    for (int64_t k = 0; k < n; k++) ((uint16_t *)z->data)[row * n + k] = ox_f16_from_f32((float)s[k]);
  }
}

static void finish_row(const ox_kernel_ctx *c, int64_t row, const void *scores, uint8_t *has, double *s) {
  const ml_trees *m = c->state;
  uint32_t z = m->classifier ? 1 : 0;
  int64_t n = m->t.n_targets, label = 0;
  for (int64_t k = 0; k < n; k++) s[k] = m->t.f64 ? ((const double *)scores)[k] : (double)((const float *)scores)[k];
  if (m->classifier)
    label = classify_row(m, has, s);
  else
    regress_row(m, has, s);
  if (m->classifier && ox_ctx_wants(c, 0)) put_label(m, c->out[0], row, label);
  if (ox_ctx_wants(c, z)) put_scores(c->out[z], row, n, s);
}

/* ---- run ---- */
/* Rows [row, row + n) of X in the trees' type: X itself, or converted to |to|. */
static const void *rows_of_x(const ox_kernel_ctx *c, int64_t row, int64_t n, void *to) {
  const ml_trees *m = c->state;
  const trees_prep *p = c->prep;
  const ox_tensor *x = c->in[0];
  if (!p->converts) return (const char *)x->data + (size_t)(row * p->features) * p->item;
  if (m->t.f64)
    ox_ml_read_f64(x->dtype, x->data, row * p->features, n * p->features, to);
  else
    ox_ml_read_f32(x->dtype, x->data, row * p->features, n * p->features, to);
  return to;
}

static void run_rows(const ox_kernel_ctx *c, ox_range tiles, char *scratch) {
  const ml_trees *m = c->state;
  const trees_prep *p = c->prep;
  char *scores = scratch + p->x_bytes;
  uint8_t *has = (uint8_t *)scores + p->score_bytes;
  double *s = (double *)(has + p->has_bytes);
  for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
    int64_t first = tile * p->tile_rows, n = OX_MIN(p->rows - first, p->tile_rows);
    ox_trees_score_rows(&m->t, rows_of_x(c, first, n, scratch), p->features, n, scores, has);
    for (int64_t r = 0; r < n; r++)
      finish_row(c, first + r, scores + (size_t)(r * m->t.n_targets) * p->item, has + r * m->t.n_targets, s);
  }
}

static void run_tree_blocks(const ox_kernel_ctx *c, ox_range tiles, char *scratch) {
  const ml_trees *m = c->state;
  const trees_prep *p = c->prep;
  const void *x = NULL;
  int64_t row_in_x = -1;
  for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
    int64_t row = tile / p->tree_blocks, first = tile % p->tree_blocks * TREE_BLOCK;
    if (row != row_in_x) x = rows_of_x(c, row, 1, scratch), row_in_x = row;
    ox_trees_find_leaves(&m->t, x, first, OX_MIN(first + TREE_BLOCK, (int64_t)m->t.n_trees),
                         (uint32_t *)c->shared + row * m->t.n_trees);
  }
}

ox_status *ox_ml_trees_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ml_trees *m = c->state;
  const trees_prep *p = c->prep;
  if (!p->tree_blocks && p->rows >= OX_TREE_LANES) {
    run_rows(c, tiles, scratch);
  } else if (stage == 0) {
    run_tree_blocks(c, tiles, scratch);
  } else {
    char *scores = (char *)scratch + p->x_bytes;
    uint8_t *has = (uint8_t *)scores + p->score_bytes;
    for (int64_t row = 0; row < p->rows; row++) {
      ox_trees_score_leaves(&m->t, (const uint32_t *)c->shared + row * m->t.n_trees, scores, has);
      finish_row(c, row, scores, has, (double *)(has + p->has_bytes));
    }
  }
  return NULL;
}
