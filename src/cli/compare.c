/* SPDX-License-Identifier: Apache-2.0
 * cli/compare.c - is this the expected value? Types and shapes must be equal, numbers close, strings identical. */
#include <math.h>
#include <string.h>

#include "cli.h"

static bool same_shape(const ox_tensor *a, const ox_tensor *b) {
  if (a->shape.rank != b->shape.rank) return false;
  for (int i = 0; i < a->shape.rank; i++)
    if (a->shape.dim[i] != b->shape.dim[i]) return false;
  return true;
}

static void shape_text(const ox_tensor *t, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "%s[", ox_type_name(t->dtype));
  for (int i = 0; i < t->shape.rank && at + 24 < n; i++)
    at += (size_t)snprintf(out + at, n - at, "%s%lld", i ? "," : "", (long long)t->shape.dim[i]);
  snprintf(out + at, n - at, "]");
}

static bool strings_equal(const ox_tensor *got, const ox_tensor *want, char *why, size_t n) {
  int64_t count = ox_tensor_count(want);
  for (int64_t i = 0; i < count; i++) {
    const ox_str *g = (const ox_str *)got->data + i, *w = (const ox_str *)want->data + i;
    if (g->n == w->n && memcmp(g->p, w->p, w->n) == 0) continue;
    snprintf(why, n, "element %lld: got \"%.*s\", wanted \"%.*s\"", (long long)i, (int)g->n, g->p, (int)w->n, w->p);
    return false;
  }
  return true;
}

/* Complex numbers compare as twice as many floats. */
static ox_tensor as_reals(const ox_tensor *t) {
  ox_tensor r = *t;
  if (t->dtype != OX_C64 && t->dtype != OX_C128) return r;
  r.dtype = t->dtype == OX_C64 ? OX_F32 : OX_F64;
  r.shape.rank = 1, r.shape.dim[0] = 2 * ox_tensor_count(t);
  return r;
}

static bool numbers_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why, size_t n) {
  int64_t count = ox_tensor_count(want), bad = 0, first = -1;
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < count && tol->atol_max > 0; i++) {
    double w = fabs(ox_tensor_element(want, i));
    if (isfinite(w) && w > largest) largest = w;
  }
  for (int64_t i = 0; i < count; i++) {
    double g = ox_tensor_element(got, i), w = ox_tensor_element(want, i);
    if (g == w || (isnan(g) && isnan(w))) continue;
    double off = fabs(g - w);
    if (off <= tol->rtol * fabs(w) + tol->atol + tol->atol_max * largest) continue;
    if (first < 0) first = i;
    if (!(off <= worst)) worst = off;
    bad++;
  }
  if (!bad) return true;
  snprintf(why, n, "%lld of %lld elements differ; element %lld: got %.9g, wanted %.9g; largest difference %.3g",
           (long long)bad, (long long)count, (long long)first, ox_tensor_element(got, first),
           ox_tensor_element(want, first), worst);
  return false;
}

/* For quantized models, whose values are compared by direction, outputs by their largest element, too. */
static bool directions_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why,
                             size_t n) {
  int64_t count = ox_tensor_count(want), top_g = 0, top_w = 0;
  double gg = 0, ww = 0, gw = 0;
  for (int64_t i = 0; i < count; i++) {
    double g = ox_tensor_element(got, i), w = ox_tensor_element(want, i);
    gg += g * g, ww += w * w, gw += g * w;
    if (g > ox_tensor_element(got, top_g)) top_g = i;
    if (w > ox_tensor_element(want, top_w)) top_w = i;
  }
  double cosine = gg == 0 && ww == 0 ? 1 : gw / sqrt(gg * ww);
  if ((top_g == top_w || !tol->same_top) && cosine >= tol->cosine) return true;
  snprintf(why, n, "largest element at %lld, wanted %lld; cosine %.6f", (long long)top_g, (long long)top_w, cosine);
  return false;
}

static bool items_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why, size_t n) {
  for (int64_t i = 0; i < want->shape.dim[0]; i++)
    if (!cli_equal(((const ox_tensor *const *)got->data)[i], ((const ox_tensor *const *)want->data)[i], tol, why, n)) {
      size_t at = strlen(why);
      snprintf(why + at, n - at, " (item %lld)", (long long)i);
      return false;
    }
  return true;
}

bool cli_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why, size_t n) {
  static const char *const kinds[] = {"tensor", "sequence", "map", "none", "sparse"};
  if (got->kind != want->kind) {
    snprintf(why, n, "got a %s, wanted a %s", got->kind < 5 ? kinds[got->kind] : "?",
             want->kind < 5 ? kinds[want->kind] : "?");
    return false;
  }
  if (got->kind == OX_NONE_VALUE) return true;
  if (got->kind == OX_MAP || got->kind == OX_SPARSE) {
    const ox_tensor *g = got->data, *w = want->data;
    return cli_equal(&g[0], &w[0], tol, why, n) && cli_equal(&g[1], &w[1], tol, why, n);
  }
  if (!same_shape(got, want) || (got->kind == OX_TENSOR && got->dtype != want->dtype)) {
    char a[256], b[256];
    shape_text(got, a, sizeof a), shape_text(want, b, sizeof b);
    snprintf(why, n, "got %s, wanted %s", a, b);
    return false;
  }
  if (got->kind == OX_SEQUENCE) return items_equal(got, want, tol, why, n);
  if (tol->shapes_only) return true;
  if (want->dtype == OX_STRING) return strings_equal(got, want, why, n);
  ox_tensor g = as_reals(got), w = as_reals(want);
  return tol->cosine > 0 ? directions_equal(&g, &w, tol, why, n) : numbers_equal(&g, &w, tol, why, n);
}

int64_t cli_worst(const ox_tensor *got, const ox_tensor *want) {
  int64_t worst = -1;
  double most = -1;
  if (got->kind != OX_TENSOR || want->kind != OX_TENSOR || got->dtype != want->dtype || !same_shape(got, want) ||
      got->dtype == OX_STRING || got->dtype == OX_C64 || got->dtype == OX_C128)
    return -1;
  for (int64_t i = 0; i < ox_tensor_count(want); i++) {
    double g = ox_tensor_element(got, i), w = ox_tensor_element(want, i);
    double off = g == w || (isnan(g) && isnan(w)) ? 0 : isnan(g) || isnan(w) ? INFINITY : fabs(g - w);
    if (off > most) most = off, worst = i;
  }
  return worst;
}
