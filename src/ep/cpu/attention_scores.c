/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/attention_scores.c - see attention_scores.h. */
#include "ep/cpu/attention_scores.h"

#include "base/status.h"

ox_id ox_scores_unscale(const ox_rewrite *g, ox_id v, double *scale) {
  for (int left = 3; left > 0; left--) {
    ox_id n = ox_up1(g, v, "Mul|Div");
    double c;
    if (n == OX_NONE) return v;
    int div = ox_is(g, n, "Div");
    if (ox_const_scalar(g, ox_in(g, n, 1), &c) && c > 0) {
      *scale = div ? *scale / c : *scale * c, v = ox_in(g, n, 0);
    } else if (!div && ox_const_scalar(g, ox_in(g, n, 0), &c) && c > 0) {
      *scale *= c, v = ox_in(g, n, 1);
    } else {
      return v;
    }
  }
  return v;
}

/* Whether |m| broadcasts to the scores' shape |s|, and not the other way around. The kernel broadcasts all but the last
 * dimension of a mask, and takes a shorter one as masked out. */
static int mask_ok(const ox_shape *m, const ox_shape *s) {
  if (m->rank < 2 || m->rank > 4 || s->rank != 4) return 0;
  for (int i = 0; i < m->rank; i++) {
    int64_t has = m->dim[i], rows = s->dim[4 - m->rank + i];
    if (has > 1 && rows >= 0 && has != rows) return 0;
  }
  int64_t last = m->dim[m->rank - 1], want = s->dim[3];
  return last == want ? last != -1 : last < -1 || (last > 1 && want < 0);
}

static int is_mask(const ox_rewrite *g, ox_id mask, ox_id scores) {
  return ox_dtype_of(g, mask) == OX_F32 && mask_ok(ox_shape_at(g, mask), ox_shape_at(g, scores));
}

/* |split|: the |scores|, [batch * windows, heads, rows, keys], with batch and windows as two dimensions. */
static int window_mask_ok(const ox_rewrite *g, ox_id mask, ox_id split, ox_id scores) {
  const ox_shape *m = ox_shape_at(g, mask), *x = ox_shape_at(g, split), *s = ox_shape_at(g, scores);
  if (x->rank != 5 || s->rank != 4 || m->rank < 4 || m->rank > 5 || ox_dtype_of(g, mask) != OX_F32) return 0;
  if (m->rank == 5 && m->dim[0] != 1) return 0;
  const int64_t *own = m->dim + m->rank - 4; /* windows, heads, rows, keys */
  for (int i = 1; i < 4; i++)
    if (!ox_dims_equal(x, i + 1, s, i) || (own[i] != s->dim[i] && (i != 1 || own[i] != 1)) || own[i] < 1) return 0;
  return own[0] > 0 && own[0] == x->dim[1];
}

/* Shifted windows (Swin) have a mask each: scores = Reshape(Reshape(scores) + mask). */
static ox_id without_window_mask(const ox_rewrite *g, ox_id v, ox_scores *s) {
  ox_id merge = ox_up1(g, v, "Reshape"), add = merge == OX_NONE ? OX_NONE : ox_up1(g, ox_in(g, merge, 0), "Add");
  for (uint32_t i = 0; i < 2 && add != OX_NONE; i++) {
    ox_id split = ox_up1(g, ox_in(g, add, i), "Reshape"), mask = ox_in(g, add, 1 - i);
    if (split == OX_NONE || !ox_same_shape(ox_shape_at(g, ox_in(g, split, 0)), ox_shape_at(g, v))) continue;
    if (!window_mask_ok(g, mask, ox_in(g, add, i), v)) continue;
    s->window_mask = mask;
    return ox_in(g, split, 0);
  }
  return v;
}

/* Where |v| chooses between scores and a number so low that a score added to it is lost in rounding, the scores. */
static ox_id without_choice(const ox_rewrite *g, ox_id v, ox_scores *s) {
  ox_id where = ox_up1(g, v, "Where");
  double low;
  for (uint32_t i = 1; i < 3 && where != OX_NONE; i++) {
    ox_id cond = ox_in(g, where, 0), scores = ox_in(g, where, i), other = ox_in(g, where, 3 - i);
    if (!ox_const_scalar(g, other, &low) || !(low < -1e37)) continue;
    if (!mask_ok(ox_shape_at(g, cond), ox_shape_at(g, scores))) continue;
    s->cond = cond, s->low = other, s->inverted = i == 2;
    return scores;
  }
  return v;
}

/* The product with its scale, as |v| or as a term of the sum |v|, whose other term then is the mask. */
static int find_product(const ox_rewrite *g, ox_id v, int sum, ox_scores *s) {
  ox_id add = sum ? ox_up1(g, v, "Add") : OX_NONE;
  for (uint32_t i = 0; i < 2; i++) {
    ox_id scores = add == OX_NONE ? v : ox_in(g, add, i), mask = add == OX_NONE ? OX_NONE : ox_in(g, add, 1 - i);
    s->scale = 1;
    s->product = ox_up1(g, ox_scores_unscale(g, scores, &s->scale), "MatMul");
    if (s->product != OX_NONE && (add == OX_NONE || is_mask(g, mask, scores))) {
      if (add != OX_NONE) s->mask = mask;
      return 1;
    }
    if (add == OX_NONE) return 0;
  }
  return 0;
}

/* A sum of a mask and Where(cond, scores, low). */
static int find_choice_below_sum(const ox_rewrite *g, ox_id v, ox_scores *s) {
  ox_id add = ox_up1(g, v, "Add");
  for (uint32_t i = 0; i < 2 && add != OX_NONE; i++) {
    ox_id chosen = ox_in(g, add, i), mask = ox_in(g, add, 1 - i), scores = without_choice(g, chosen, s);
    if (scores == chosen || !is_mask(g, mask, chosen) || !find_product(g, scores, 0, s)) continue;
    s->mask = mask;
    return 1;
  }
  s->cond = OX_NONE;
  return 0;
}

int ox_scores_find(const ox_rewrite *g, ox_id v, ox_scores *out) {
  *out = (ox_scores){.mask = OX_NONE, .window_mask = OX_NONE, .cond = OX_NONE, .low = OX_NONE};
  v = without_window_mask(g, v, out);
  ox_id scores = without_choice(g, v, out);
  out->masked_before = 1;
  if (find_product(g, scores, 1, out)) return 1;
  out->masked_before = 0;
  return scores == v && find_choice_below_sum(g, v, out);
}

/* What is added to scores instead of the choice: |low| where they are given up, else nothing or the mask. */
static ox_status *make_mask(const ox_rewrite *g, const ox_scores *s, ox_id *out) {
  ox_id node, kept = s->masked_before ? s->mask : OX_NONE;
  *out = s->mask;
  if (s->cond == OX_NONE) return NULL;
  if (kept == OX_NONE) {
    float *zero;
    OX_TRY(ox_f32_room(g, "nothing", 0, NULL, &zero, &kept));
  }
  ox_id in[3] = {s->cond, s->inverted ? s->low : kept, s->inverted ? kept : s->low};
  OX_TRY(ox_emit(g, NULL, "Where", in, 3, &node, out));
  if (s->masked_before || s->mask == OX_NONE) return NULL;
  return ox_emit(g, NULL, "Add", (ox_id[]){*out, s->mask}, 2, &node, out);
}

ox_status *ox_scores_masks(const ox_rewrite *g, const ox_scores *s, ox_id in[OX_SCORES_INPUTS], uint32_t *out_n) {
  for (int i = OX_SCORES_MASK; i < OX_SCORES_INPUTS; i++) in[i] = OX_NONE;
  OX_TRY(make_mask(g, s, &in[OX_SCORES_MASK]));
  *out_n = in[OX_SCORES_MASK] != OX_NONE ? OX_SCORES_MASK + 1 : OX_SCORES_MASK;
  if (s->window_mask == OX_NONE) return NULL;
  const ox_shape *m = ox_shape_at(g, s->window_mask);
  in[OX_SCORES_WINDOW_MASK] = s->window_mask, *out_n = OX_SCORES_INPUTS;
  if (m->rank == 4) return NULL;
  ox_id shape, node;
  OX_TRY(ox_i64_const(g, m->dim + 1, 4, &shape));
  return ox_emit(g, NULL, "Reshape", (ox_id[]){s->window_mask, shape}, 2, &node, &in[OX_SCORES_WINDOW_MASK]);
}
