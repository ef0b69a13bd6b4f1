/* SPDX-License-Identifier: Apache-2.0
 * ops/gated_delta_net.c - com.microsoft.GatedDeltaNet: a recurrence over concatenated sequences, with a state of
 * keys x values per value head. Computed in float; a tile is a value head of one sequence. */
#include <math.h>
#include <string.h>

#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { Q, K, V, ENDS, DECAY, BETA, STATE, A_LOG, DT_BIAS, CAPTURE, ACTIVE };
enum { OUT, FINAL, UPDATE };
typedef struct delta_attrs {
  const char *update_rule, *gate_activation, *beta_activation;
  int64_t qk_l2_norm, chunk_size, state_update_capacity;
  float scale;
} delta_attrs;
static const ox_attr_def attr_rows[] = {
    OX_ATTR_STR(delta_attrs, update_rule, "gated_delta"),
    OX_ATTR_STR(delta_attrs, gate_activation, "none"),
    OX_ATTR_STR(delta_attrs, beta_activation, "none"),
    OX_ATTR_INT(delta_attrs, qk_l2_norm, 0),
    OX_ATTR_INT(delta_attrs, chunk_size, 64), /* a hint for implementations; does not change results */
    OX_ATTR_INT_IN(delta_attrs, state_update_capacity, 0, 0, 8),
    OX_ATTR_FLOAT(delta_attrs, scale, 0),
};

/* Sizes, -1 where not known. */
typedef struct delta_sizes {
  bool packed, apart; /* q, k and v in one row; sequences have a dimension of their own */
  int64_t batch, tokens, len, hq, hv, dk, dv, width; /* len: of every sequence, if |apart|; width: of a row of q */
} delta_sizes;

static bool is_gated(const delta_attrs *a) { return strncmp(a->update_rule, "gated", 5) == 0; }
static bool is_delta(const delta_attrs *a) { return strstr(a->update_rule, "delta") != NULL; }
static bool is_qwen(const delta_attrs *a) { return strcmp(a->gate_activation, "qwen") == 0; }

static ox_status *check_attrs(const delta_attrs *a) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  size_t i = 0;
  while (i < OX_COUNT(rules) && strcmp(a->update_rule, rules[i]) != 0) i++;
  if (i == OX_COUNT(rules)) return ox_fail(OX_INVALID_MODEL, "unknown update_rule \"%.40s\"", a->update_rule);
  if (!is_qwen(a) && strcmp(a->gate_activation, "none") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown gate_activation \"%.40s\"", a->gate_activation);
  if (strcmp(a->beta_activation, "sigmoid") != 0 && strcmp(a->beta_activation, "none") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown beta_activation \"%.40s\"", a->beta_activation);
  return NULL;
}

static int64_t dim(const ox_shape *s, int d) { return s && d < s->rank ? s->dim[d] : -1; }

static ox_status *unfit(const char *what) {
  return ox_fail(OX_SHAPE_MISMATCH, "GatedDeltaNet: %s does not fit the other inputs", what);
}

/* From the shapes of q, k, v, ends and state (NULL: absent). */
static ox_status *sizes_of(const ox_shape *q, const ox_shape *k, const ox_shape *v, const ox_shape *ends,
                           const ox_shape *state, delta_sizes *s) {
  *s = (delta_sizes){!k, false, -1, -1, -1, -1, -1, -1, -1, -1};
  if (!k != !v) return ox_fail(OX_INVALID_MODEL, "GatedDeltaNet: key and value come together or not at all");
  if (!state && (s->packed || !ends))
    return ox_fail(OX_INVALID_MODEL, "GatedDeltaNet: initial_state is required without %s",
                   ends ? "key" : "cu_seqlens");
  if (state && state->rank >= 0 && state->rank != 4) return unfit("initial_state");
  s->batch = state && state->rank == 4 ? state->dim[0] : dim(ends, 0) > 0 ? dim(ends, 0) - 1 : -1;
  s->hv = dim(state, 1), s->dv = dim(state, 2), s->dk = dim(state, 3);
  if (q->rank < 0) return NULL;
  int tail = s->packed ? 1 : 2, front = q->rank - tail;
  if (front < 1 || front > 2 || (front == 2 && ends)) return unfit("query");
  s->apart = front == 2, s->len = front == 2 ? q->dim[1] : -1;
  s->tokens = front == 2 ? ox_dim_mul(q->dim[0], q->dim[1]) : q->dim[0];
  if (front == 2 && s->batch < 0) s->batch = q->dim[0];
  if (s->packed) {
    s->width = q->dim[front];
    if (s->width < 0 || s->hv < 0 || s->dv < 0 || s->dk < 0) return NULL;
    int64_t values = ox_dim_mul(s->hv, s->dv), keys = s->dk > 0 ? (s->width - values) / s->dk : 0;
    if (values < 0 || keys <= 0 || (s->width - values) % s->dk || keys % 2) return unfit("a packed query");
    s->hq = keys / 2;
  } else {
    s->hq = q->dim[front], s->dk = q->dim[front + 1];
    s->width = s->hq < 0 || s->dk < 0 ? -1 : ox_dim_mul(s->hq, s->dk);
    if (v->rank >= 0 && v->rank != q->rank) return unfit("value");
    if (v->rank >= 0) s->hv = v->dim[front], s->dv = v->dim[front + 1];
  }
  if (s->hq == 0 || (s->hq > 0 && s->hv >= 0 && (s->hv == 0 || s->hv % s->hq))) return unfit("the number of heads");
  return NULL;
}

/* Input |i| of |width| numbers a token, in one dimension or two (|heads| x |each|). */
static ox_status *per_token(const ox_infer_ctx *c, uint32_t i, const delta_sizes *s, int64_t heads, int64_t each) {
  int64_t dims[4] = {s->batch, s->len, heads, each};
  if (!ox_infer_has(c, i) || c->in[i]->shape.rank < 0 || c->in[Q]->shape.rank < 0) return NULL;
  if (s->apart) return ox_infer_shape_is(c, i, each == 0 ? 3 : 4, dims);
  return ox_infer_shape_is(c, i, each == 0 ? 2 : 3, (int64_t[]){s->tokens, heads, each});
}

static ox_status *check_inputs(const ox_infer_ctx *c, const delta_sizes *s) {
  const delta_attrs *a = c->attrs;
  OX_TRY(per_token(c, K, s, s->hq, s->dk));
  OX_TRY(per_token(c, V, s, s->hv, s->dv));
  bool by_key = ox_infer_has(c, DECAY) && c->in[DECAY]->shape.rank == (s->apart ? 4 : 3);
  OX_TRY(per_token(c, DECAY, s, s->hv, by_key ? s->dk : 0));
  OX_TRY(per_token(c, BETA, s, s->hv, 0));
  OX_TRY(ox_infer_shape_is(c, ENDS, 1, (int64_t[]){s->batch < 0 ? -1 : s->batch + 1}));
  OX_TRY(ox_infer_shape_is(c, STATE, 4, (int64_t[]){s->batch, s->hv, s->dv, s->dk}));
  for (uint32_t i = A_LOG; i <= DT_BIAS; i++) {
    OX_TRY(ox_infer_shape_is(c, i, 1, &s->hv));
    if (is_qwen(a) != ox_infer_has(c, i))
      return ox_fail(OX_INVALID_MODEL, "GatedDeltaNet: gate_activation \"%s\" and a_log, dt_bias", a->gate_activation);
  }
  if (is_gated(a) != ox_infer_has(c, DECAY))
    return ox_fail(OX_INVALID_MODEL, "GatedDeltaNet: update_rule \"%s\" %s decay", a->update_rule,
                   is_gated(a) ? "needs" : "forbids");
  if (ox_infer_has(c, CAPTURE) != (a->state_update_capacity > 0) || (by_key && a->state_update_capacity))
    return ox_fail(OX_INVALID_MODEL, "GatedDeltaNet: state_update_capacity %lld and capture_count or a decay by key",
                   (long long)a->state_update_capacity);
  OX_TRY(ox_infer_shape_is(c, CAPTURE, 1, &s->batch));
  return ox_infer_shape_is(c, ACTIVE, 1, (int64_t[]){1});
}

static ox_status *infer(ox_infer_ctx *c) {
  const delta_attrs *a = c->attrs;
  const ox_shape *shape[STATE + 1];
  delta_sizes s;
  for (uint32_t i = 0; i <= STATE; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(check_attrs(a));
  OX_TRY(sizes_of(shape[Q], shape[K], shape[V], shape[ENDS], shape[STATE], &s));
  OX_TRY(check_inputs(c, &s));
  ox_shape out = s.apart ? ox_shape_of(4, (int64_t[]){s.batch, s.len, s.hv, s.dv})
                         : ox_shape_of(3, (int64_t[]){s.tokens, s.hv, s.dv});
  if (shape[Q]->rank < 0) out = ox_shape_unknown();
  ox_shape state = ox_shape_of(4, (int64_t[]){s.batch, s.hv, s.dv, s.dk});
  int64_t row = ox_dim_add(s.hv, ox_dim_add(ox_dim_mul(s.hq, s.dk), ox_dim_mul(s.hv, s.dv)));
  ox_shape update = ox_shape_of(2, (int64_t[]){s.batch, ox_dim_mul(a->state_update_capacity, row)});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, FINAL, OX_F32, &state);
  ox_infer_out(c, UPDATE, OX_F32, &update);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[STATE + 1];
  delta_sizes *s = c->prep = ox_ctx_alloc(c, sizeof *s);
  size_t floats;
  if (!s) return ox_oom();
  for (uint32_t i = 0; i <= STATE; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(sizes_of(shape[Q], shape[K], shape[V], shape[ENDS], shape[STATE], s));
  if (!ox_ctx_has(c, ENDS) && s->batch && s->tokens % s->batch) return unfit("the number of tokens");
  /* the state, a row of q, k, v, decay, the result */
  if (!ox_mul_ok((size_t)s->dk, (size_t)s->dv, &floats) ||
      !ox_add_ok(floats, 3 * (size_t)s->dk + 3 * (size_t)s->dv, &floats) || !ox_mul_ok(floats, sizeof(float), &floats))
    return ox_fail(OX_LIMIT, "GatedDeltaNet: the heads are too large");
  return ox_ctx_plan(c, s->batch * s->hv, floats);
}

/* ---- run ---- */

/* A value head of one sequence. */
typedef struct head {
  const ox_kernel_ctx *c;
  const delta_sizes *s;
  int64_t b, h, first, len;
  float *state; /* [dv][dk] */
  float *q, *k, *decay, *v, *delta, *y;
} head;

static ox_status *find_sequence(head *t) {
  const delta_sizes *s = t->s;
  if (!ox_ctx_has(t->c, ENDS)) {
    t->len = s->tokens / s->batch, t->first = t->b * t->len;
    return NULL;
  }
  const int32_t *ends = t->c->in[ENDS]->data;
  t->first = ends[t->b], t->len = (int64_t)ends[t->b + 1] - ends[t->b];
  if (ends[0] == 0 && ends[s->batch] == s->tokens && t->first >= 0 && t->len >= 0 && ends[t->b + 1] <= s->tokens)
    return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "cu_seqlens: sequence %lld from %lld to %lld, %lld tokens in all",
                 (long long)t->b, (long long)t->first, (long long)ends[t->b + 1], (long long)s->tokens);
}

static void load(const head *t, uint32_t i, int64_t at, int64_t n, float *to) {
  ox_convert_select(t->c->isa)->load_f32[t->c->in[i]->dtype](t->c->in[i]->data, (size_t)at, (size_t)n, to);
}

/* L2 normalization with 1e-6 under the root, as in the layers that this operator fuses. */
static void normalize(float *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  float factor = (float)(1 / sqrt(sum + 1e-6));
  for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

static float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

/* Loads the factor of the state for each key. */
static void load_decay(const head *t, int64_t token) {
  const delta_sizes *s = t->s;
  const delta_attrs *a = t->c->attrs;
  bool by_key = t->c->in[DECAY]->shape.rank == (s->apart ? 4 : 3);
  int64_t n = by_key ? s->dk : 1;
  float rate = 1, bias = 0;
  load(t, DECAY, (token * s->hv + t->h) * n, n, t->decay);
  if (is_qwen(a)) load(t, A_LOG, t->h, 1, &rate), load(t, DT_BIAS, t->h, 1, &bias);
  for (int64_t i = 0; i < n; i++)
    t->decay[i] = expf(is_qwen(a) ? -expf(rate) * softplus(t->decay[i] + bias) : t->decay[i]);
  for (int64_t i = n; i < s->dk; i++) t->decay[i] = t->decay[0];
}

static float beta_of(const head *t, int64_t token) {
  float beta = 1;
  if (!ox_ctx_has(t->c, BETA)) return beta;
  load(t, BETA, token * t->s->hv + t->h, 1, &beta);
  return strcmp(((const delta_attrs *)t->c->attrs)->beta_activation, "none") == 0 ? beta : 1 / (1 + expf(-beta));
}

static void load_token(const head *t, int64_t token) {
  const delta_sizes *s = t->s;
  const delta_attrs *a = t->c->attrs;
  int64_t hk = t->h / (s->hv / s->hq), at = token * s->width;
  load(t, Q, at + hk * s->dk, s->dk, t->q);
  load(t, s->packed ? Q : K, at + ((s->packed ? s->hq : 0) + hk) * s->dk, s->dk, t->k);
  load(t, s->packed ? Q : V, s->packed ? at + 2 * s->hq * s->dk + t->h * s->dv : (token * s->hv + t->h) * s->dv, s->dv,
       t->v);
  if (a->qk_l2_norm) normalize(t->q, s->dk), normalize(t->k, s->dk);
  if (is_gated(a)) load_decay(t, token);
}

/* Updates the state with a token. |delta|: the values added along the key; |y|: the output. */
static void step(const head *t, int64_t token, float scale) {
  const delta_sizes *s = t->s;
  const delta_attrs *a = t->c->attrs;
  float beta = beta_of(t, token);
  for (int64_t j = 0; j < s->dv; j++) {
    float *row = t->state + j * s->dk, known = 0, sum = 0;
    for (int64_t i = 0; i < s->dk && is_gated(a); i++) row[i] *= t->decay[i];
    for (int64_t i = 0; i < s->dk && is_delta(a); i++) known += row[i] * t->k[i];
    t->delta[j] = beta * (t->v[j] - known);
    for (int64_t i = 0; i < s->dk; i++) row[i] += t->k[i] * t->delta[j], sum += row[i] * t->q[i];
    t->y[j] = scale * sum;
  }
}

/* The factors of transition |n|: all decays, then all keys, then all deltas of the sequence. */
static void put_update(const head *t, int64_t n) {
  const delta_sizes *s = t->s;
  int64_t capacity = ((const delta_attrs *)t->c->attrs)->state_update_capacity, per = s->hv / s->hq;
  int64_t row = s->hv + s->hq * s->dk + s->hv * s->dv;
  float *to = (float *)t->c->out[UPDATE]->data + t->b * capacity * row;
  to[n * s->hv + t->h] = ox_ctx_has(t->c, DECAY) ? t->decay[0] : 1;
  to += capacity * s->hv;
  if (t->h % per == 0) memcpy(to + (n * s->hq + t->h / per) * s->dk, t->k, (size_t)s->dk * sizeof *to);
  to += capacity * s->hq * s->dk;
  memcpy(to + (n * s->hv + t->h) * s->dv, t->delta, (size_t)s->dv * sizeof *to);
}

/* Zeroes this head's part of transitions that are not captured. */
static void clear_update(const head *t, int64_t from) {
  const delta_sizes *s = t->s;
  int64_t capacity = ((const delta_attrs *)t->c->attrs)->state_update_capacity;
  head none = *t;
  memset(t->k, 0, (size_t)s->dk * sizeof(float)), memset(t->delta, 0, (size_t)s->dv * sizeof(float));
  memset(t->decay, 0, (size_t)s->dk * sizeof(float));
  for (int64_t n = from; n < capacity; n++) {
    put_update(&none, n);
    ((float *)t->c->out[UPDATE]->data)[t->b * capacity * (s->hv + s->hq * s->dk + s->hv * s->dv) + n * s->hv + t->h] =
        0;
  }
}

static int64_t captured(const head *t) {
  const ox_kernel_ctx *c = t->c;
  if (!ox_ctx_wants(c, UPDATE) || !ox_ctx_has(c, CAPTURE)) return 0;
  if (ox_ctx_has(c, ACTIVE) && *(const int32_t *)c->in[ACTIVE]->data == 0) return 0;
  int64_t n = OX_MIN(((const int32_t *)c->in[CAPTURE]->data)[t->b], t->len);
  return OX_MAX(OX_MIN(n, ((const delta_attrs *)c->attrs)->state_update_capacity), 0);
}

static ox_status *run_head(head *t) {
  const delta_sizes *s = t->s;
  const ox_kernel_ctx *c = t->c;
  float scale = ((const delta_attrs *)c->attrs)->scale;
  int64_t size = s->dk * s->dv;
  OX_TRY(find_sequence(t));
  int64_t n_captured = captured(t);
  if (scale == 0) scale = (float)(1 / sqrt((double)OX_MAX(s->dk, 1)));
  if (ox_ctx_has(c, STATE))
    load(t, STATE, (t->b * s->hv + t->h) * size, size, t->state);
  else
    memset(t->state, 0, (size_t)size * sizeof *t->state);
  for (int64_t n = 0; n < t->len; n++) {
    int64_t token = t->first + n;
    load_token(t, token);
    step(t, token, scale);
    if (n < n_captured) put_update(t, n);
    if (ox_ctx_wants(c, OUT))
      ox_convert_select(c->isa)->store_f32[c->out[OUT]->dtype](
          t->y, c->out[OUT]->data, (size_t)((token * s->hv + t->h) * s->dv), (size_t)s->dv, NULL);
    if (ox_ctx_stopped_each(c, n, 16)) return NULL;
  }
  if (ox_ctx_wants(c, UPDATE)) clear_update(t, n_captured);
  if (ox_ctx_wants(c, FINAL))
    memcpy((float *)c->out[FINAL]->data + (t->b * s->hv + t->h) * size, t->state, (size_t)size * sizeof *t->state);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const delta_sizes *s = c->prep;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    head t = {.c = c, .s = s, .b = i / s->hv, .h = i % s->hv, .state = scratch};
    t.q = t.state + s->dk * s->dv, t.k = t.q + s->dk, t.decay = t.k + s->dk, t.v = t.decay + s->dk;
    t.delta = t.v + s->dv, t.y = t.delta + s->dv;
    OX_TRY(run_head(&t));
  }
  return NULL;
}

#define T (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define F32 OX_BIT(OX_F32)
#define I32 OX_BIT(OX_I32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GatedDeltaNet", .domain = "com.microsoft", .since = 1,
               .types = {T, T, T, I32, F32, F32, F32, F32}, .more_types = (const uint32_t[]){F32, I32, I32},
               .vars = "TTT", .min_in = 1, .max_in = 11, .min_out = 1, .max_out = 3, OX_ATTRS(attr_rows),
               .attrs_bytes = sizeof(delta_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_gated_delta_net = {ops, OX_COUNT(ops)};
