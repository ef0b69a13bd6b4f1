/* SPDX-License-Identifier: Apache-2.0
 * ops/linear_attention.c - LinearAttention of the standard (27) and of com.microsoft: recurrent, token by token, with
 * decay and delta rules. Tiles are heads times blocks of the state's columns. */
#include <math.h>
#include <string.h>

#include "graph/op_def.h"
#include "kern/attention/linear_attention.h"
#include "ops/shared/float_element.h"

typedef struct linear_attrs {
  const char *update_rule;
  int64_t q_num_heads, kv_num_heads, chunk_size, state_window;
  float scale;
} linear_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_STR(linear_attrs, update_rule, "gated_delta"),
    OX_ATTR_INT_REQUIRED_IN(linear_attrs, q_num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(linear_attrs, kv_num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT_IN(linear_attrs, chunk_size, 64, 1, OX_COUNT_MAX),
    OX_ATTR_INT_IN(linear_attrs, state_window, 0, 0, 8),
    OX_ATTR_FLOAT(linear_attrs, scale, 0),
};

enum { Q, K, V, PAST, DECAY, BETA, N_IN };
enum { OUT, PRESENT };

static bool is_gated(const linear_attrs *a) { return !strncmp(a->update_rule, "gated", 5); }
static bool is_delta(const linear_attrs *a) { return strstr(a->update_rule, "delta") != NULL; }

static ox_status *check_attrs(const linear_attrs *a, bool decay, bool beta) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  int64_t hq = a->q_num_heads, hk = a->kv_num_heads;
  size_t i = 0;
  while (i < OX_COUNT(rules) && strcmp(a->update_rule, rules[i])) i++;
  if (i == OX_COUNT(rules)) return ox_fail(OX_INVALID_MODEL, "unknown update_rule \"%.40s\"", a->update_rule);
  if (hq % hk && hk % hq)
    return ox_fail(OX_INVALID_MODEL, "q_num_heads %lld, kv_num_heads %lld", (long long)hq, (long long)hk);
  if (decay != is_gated(a) || beta != is_delta(a))
    return ox_fail(OX_INVALID_MODEL, "update_rule \"%s\" %s decay and %s beta", a->update_rule,
                   is_gated(a) ? "needs" : "forbids", is_delta(a) ? "needs" : "forbids");
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const linear_attrs *a = c->attrs;
  const ox_shape *q = &c->in[Q]->shape, *v = &c->in[V]->shape;
  OX_TRY(check_attrs(a, ox_infer_has(c, DECAY), ox_infer_has(c, BETA)));
  for (int i = Q; i <= V; i++)
    if (c->in[i]->shape.rank >= 0 && c->in[i]->shape.rank != 3)
      return ox_fail(OX_SHAPE_MISMATCH, "LinearAttention: input %d must be 3-D, got rank %d", i,
                     (int)c->in[i]->shape.rank);
  int64_t dk = q->rank == 3 && q->dim[2] >= 0 ? q->dim[2] / a->q_num_heads : -1;
  int64_t dv = v->rank == 3 && v->dim[2] >= 0 ? v->dim[2] / a->kv_num_heads : -1;
  int64_t batch = q->rank == 3 ? q->dim[0] : -1, len = q->rank == 3 ? q->dim[1] : -1;
  int64_t heads = OX_MAX(a->q_num_heads, a->kv_num_heads);
  ox_shape out = ox_shape_of(3, (int64_t[]){batch, len, ox_dim_mul(heads, dv)});
  ox_shape state = a->state_window ? ox_shape_of(5, (int64_t[]){a->state_window, batch, a->kv_num_heads, dk, dv})
                                   : ox_shape_of(4, (int64_t[]){batch, a->kv_num_heads, dk, dv});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT, ox_infer_has(c, PAST) ? c->in[PAST]->dtype : c->in[Q]->dtype, &state);
  return NULL;
}

typedef struct linear_prep {
  int64_t batch, len, hq, hk, dk, dv, per, blocks; /* per: query heads of a key head */
  int64_t decay_width, beta_heads;
  float scale;
} linear_prep;

static bool has_shape(const ox_kernel_ctx *c, uint32_t i, int64_t batch, int64_t len, int64_t width) {
  const ox_shape want = ox_shape_of(3, (int64_t[]){batch, len, width});
  return ox_shape_equal(&c->in[i]->shape, &want);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const linear_attrs *a = c->attrs;
  const ox_shape *q = &c->in[Q]->shape;
  linear_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->batch = q->dim[0], p->len = q->dim[1], p->hq = a->q_num_heads, p->hk = a->kv_num_heads;
  p->dk = q->dim[2] / p->hq, p->dv = c->in[V]->shape.dim[2] / p->hk;
  p->per = OX_MAX(p->hq / p->hk, 1), p->blocks = OX_CEIL_DIV(p->dv, OX_LINEAR_COLS);
  p->scale = a->scale != 0 ? a->scale : (float)(1 / sqrt((double)OX_MAX(p->dk, 1)));
  bool ok = has_shape(c, Q, p->batch, p->len, p->hq * p->dk) && has_shape(c, K, p->batch, p->len, p->hk * p->dk) &&
            has_shape(c, V, p->batch, p->len, p->hk * p->dv);
  if (ok && ox_ctx_has(c, DECAY)) {
    p->decay_width = c->in[DECAY]->shape.rank == 3 && c->in[DECAY]->shape.dim[2] == p->hk ? 1 : p->dk;
    ok = has_shape(c, DECAY, p->batch, p->len, p->hk * p->decay_width);
  }
  if (ok && ox_ctx_has(c, BETA)) {
    p->beta_heads = c->in[BETA]->shape.rank == 3 && c->in[BETA]->shape.dim[2] == 1 ? 1 : p->hk;
    ok = has_shape(c, BETA, p->batch, p->len, p->beta_heads);
  }
  if (ok && ox_ctx_has(c, PAST)) {
    ox_shape want = a->state_window ? ox_shape_of(5, (int64_t[]){a->state_window, p->batch, p->hk, p->dk, p->dv})
                                    : ox_shape_of(4, (int64_t[]){p->batch, p->hk, p->dk, p->dv});
    ok = ox_shape_equal(&c->in[PAST]->shape, &want);
  }
  if (!ok) return ox_fail(OX_SHAPE_MISMATCH, "LinearAttention: the inputs' shapes do not fit each other");
  size_t floats = (size_t)p->dk * (OX_LINEAR_COLS + 2 + (size_t)p->per) + (size_t)(p->per + 1) * OX_LINEAR_COLS;
  return ox_ctx_plan(c, p->batch * p->hk * p->blocks, floats * sizeof(float) + OX_ALIGN_BYTES);
}

/* ---- run ---- */
static void read_row(const ox_tensor *t, int64_t first, int64_t n, float scale, float *out) {
  for (int64_t i = 0; i < n; i++) out[i] = ox_float_at(t, first + i) * scale;
}

/* A tile's columns of head |h| of batch item |b|. */
typedef struct linear_tile {
  int64_t b, h, first, n;
} linear_tile;

static int64_t state_at(const linear_prep *p, const linear_tile *t, int64_t slot, int64_t i) {
  return (((slot * p->batch + t->b) * p->hk + t->h) * p->dk + i) * p->dv + t->first;
}

static void write_state(const ox_kernel_ctx *c, const linear_tile *t, int64_t slot, const float *state) {
  const linear_prep *p = c->prep;
  for (int64_t i = 0; i < p->dk; i++)
    for (int64_t j = 0; j < t->n; j++)
      ox_float_put(c->out[PRESENT], state_at(p, t, slot, i) + j, state ? state[i * OX_LINEAR_COLS + j] : 0);
}

static void read_token(const ox_kernel_ctx *c, const linear_tile *t, int64_t token, float *k, float *keep, float *v,
                       float *q) {
  const linear_prep *p = c->prep;
  int64_t row = t->b * p->len + token;
  read_row(c->in[K], (row * p->hk + t->h) * p->dk, p->dk, 1, k);
  read_row(c->in[V], (row * p->hk + t->h) * p->dv + t->first, t->n, 1, v);
  for (int64_t g = 0; g < p->per; g++) {
    int64_t h = p->hq >= p->hk ? t->h * p->per + g : t->h / (p->hk / p->hq);
    read_row(c->in[Q], (row * p->hq + h) * p->dk, p->dk, p->scale, q + g * p->dk);
  }
  if (ox_ctx_has(c, DECAY)) {
    read_row(c->in[DECAY], (row * p->hk + t->h) * p->decay_width, p->decay_width, 1, keep);
    for (int64_t i = 0; i < p->decay_width; i++) keep[i] = expf(keep[i]);
  }
}

static void run_tile(const ox_kernel_ctx *c, const linear_tile *t, float *scratch) {
  const linear_prep *p = c->prep;
  const linear_attrs *a = c->attrs;
  float *state = scratch, *v = state + p->dk * OX_LINEAR_COLS, *out = v + OX_LINEAR_COLS;
  float *k = out + p->per * OX_LINEAR_COLS, *keep = k + p->dk, *q = keep + p->dk;
  int64_t window = a->state_window, heads = OX_MAX(p->hq, p->hk);
  ox_linear_step_fn *step = ox_linear_step_select(c->isa);
  memset(scratch, 0, (size_t)(p->dk + 1) * OX_LINEAR_COLS * sizeof(float));
  for (int64_t i = 0; ox_ctx_has(c, PAST) && i < p->dk; i++)
    read_row(c->in[PAST], state_at(p, t, window ? window - 1 : 0, i), t->n, 1, state + i * OX_LINEAR_COLS);
  ox_linear_step s = {.state = state,
                      .dk = p->dk,
                      .k = k,
                      .keep = p->decay_width ? keep : NULL,
                      .n_keep = p->decay_width,
                      .v = v,
                      .delta = is_delta(a),
                      .q = q,
                      .n_q = p->per,
                      .out = out};
  for (int64_t slot = 0; ox_ctx_wants(c, PRESENT) && slot < window - p->len; slot++) write_state(c, t, slot, NULL);
  for (int64_t token = 0; token < p->len; token++) {
    int64_t row = t->b * p->len + token;
    read_token(c, t, token, k, keep, v, q);
    if (s.delta) s.beta = ox_float_at(c->in[BETA], row * p->beta_heads + (p->beta_heads > 1 ? t->h : 0));
    step(&s);
    for (int64_t g = 0; ox_ctx_wants(c, OUT) && g < p->per; g++)
      for (int64_t j = 0; j < t->n; j++)
        ox_float_put(c->out[OUT], (row * heads + t->h * p->per + g) * p->dv + t->first + j,
                     out[g * OX_LINEAR_COLS + j]);
    int64_t slot = token - (p->len - window);
    if (ox_ctx_wants(c, PRESENT) && window && slot >= 0) write_state(c, t, slot, state);
  }
  if (ox_ctx_wants(c, PRESENT) && (!window || !p->len)) write_state(c, t, window ? window - 1 : 0, state);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const linear_prep *p = c->prep;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t first = i % p->blocks * OX_LINEAR_COLS, head = i / p->blocks;
    linear_tile t = {head / p->hk, head % p->hk, first, OX_MIN(p->dv - first, OX_LINEAR_COLS)};
    run_tile(c, &t, scratch);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define ROW(dom, version)                                                                                              \
  {                                                                                                                    \
    OX_SCHEMA(.name = "LinearAttention", .domain = dom, .since = version, .min_in = 3, .max_in = N_IN, .min_out = 1,   \
              .max_out = 2, .types = {HALVES}, .vars = "TTT.TT", OX_ATTRS(attrs), .attrs_bytes = sizeof(linear_attrs), \
              .infer = infer),                                                                                         \
        OX_KERNEL(.prepare = prepare, .run = run)                                                                      \
  }
static const ox_op ops[] = {
    ROW(NULL, 27),
    ROW("com.microsoft", 1),
};
const ox_op_set ox_ops_linear_attention = {ops, OX_COUNT(ops)};
