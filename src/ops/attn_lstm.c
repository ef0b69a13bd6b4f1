/* SPDX-License-Identifier: Apache-2.0
 * ops/attn_lstm.c - com.microsoft.AttnLSTM: an LSTM that attends to a memory after each step (Bahdanau's attention);
 * the result is a further input of the next step. In double precision: a tile is a direction of a batch row. */
#include <math.h>
#include <string.h>

#include "ops/rnn/recurrent.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { QUERY_W = IN_P + 1, MEMORY_W, VECTOR, MEMORY, MEMORY_LENS, LAYER_W, N_IN };

static const ox_attr_def table[] = {
    RECURRENT_ATTR_ROWS,
};

/* ---- shapes ---- */

/* directions, steps, batch, input, hidden; steps and depth of the memory, width of the alignment, width of the cell's
 * input */
typedef struct sizes {
  int64_t dirs, seq, batch, input, hidden, steps, depth, align, seen;
} sizes;

static ox_status *check_shapes(const ox_infer_ctx *c, const sizes *s) {
  int64_t gates = ox_dim_mul(4, s->hidden);
  int64_t wide = s->input < 0 || s->seen < 0 ? -1 : s->input + s->seen;
  OX_TRY(ox_infer_shape_is(c, IN_W, 3, (int64_t[]){s->dirs, gates, wide}));
  OX_TRY(ox_infer_shape_is(c, IN_R, 3, (int64_t[]){s->dirs, gates, s->hidden}));
  OX_TRY(ox_infer_shape_is(c, IN_B, 2, (int64_t[]){s->dirs, ox_dim_mul(8, s->hidden)}));
  OX_TRY(ox_infer_shape_is(c, IN_LENS, 1, &s->batch));
  OX_TRY(ox_infer_shape_is(c, IN_H, 3, (int64_t[]){s->dirs, s->batch, s->hidden}));
  OX_TRY(ox_infer_shape_is(c, IN_C, 3, (int64_t[]){s->dirs, s->batch, s->hidden}));
  OX_TRY(ox_infer_shape_is(c, IN_P, 2, (int64_t[]){s->dirs, ox_dim_mul(3, s->hidden)}));
  OX_TRY(ox_infer_shape_is(c, QUERY_W, 3, (int64_t[]){s->dirs, s->hidden, s->align}));
  OX_TRY(ox_infer_shape_is(c, MEMORY_W, 3, (int64_t[]){s->dirs, s->depth, s->align}));
  OX_TRY(ox_infer_shape_is(c, VECTOR, 2, (int64_t[]){s->dirs, s->align}));
  OX_TRY(ox_infer_shape_is(c, MEMORY, 3, (int64_t[]){s->batch, s->steps, s->depth}));
  OX_TRY(ox_infer_shape_is(c, MEMORY_LENS, 1, &s->batch));
  int64_t both = s->depth < 0 || s->hidden < 0 ? -1 : s->depth + s->hidden;
  return ox_infer_shape_is(c, LAYER_W, 3, (int64_t[]){s->dirs, both, s->seen});
}

static ox_status *infer(ox_infer_ctx *c) {
  const recurrent_attrs *a = c->attrs;
  recurrent_dims unused;
  bool both = strcmp(a->direction, "bidirectional") == 0;
  if (!both && strcmp(a->direction, "forward") != 0 && strcmp(a->direction, "reverse") != 0)
    return ox_fail(OX_INVALID_MODEL, "AttnLSTM: direction is \"%.40s\"", a->direction);
  for (uint32_t i = QUERY_W; i <= MEMORY; i++)
    if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "AttnLSTM: input %u is required", i);
  OX_TRY(recurrent_activations(CELL_LSTM, a, &unused));
  sizes s = {both ? 2 : 1,
             ox_infer_dim(c, IN_X, 0),
             ox_infer_dim(c, IN_X, 1),
             ox_infer_dim(c, IN_X, 2),
             a->hidden_size > 0 ? a->hidden_size : ox_infer_dim(c, IN_R, 2),
             ox_infer_dim(c, MEMORY, 1),
             ox_infer_dim(c, MEMORY, 2),
             ox_infer_dim(c, VECTOR, 1),
             -1};
  s.seen = ox_infer_has(c, LAYER_W) ? ox_infer_dim(c, LAYER_W, 2) : s.depth;
  OX_TRY(ox_infer_shape_is(c, IN_X, 3, (int64_t[]){-1, -1, -1}));
  OX_TRY(check_shapes(c, &s));
  ox_shape y = ox_shape_of(4, (int64_t[]){s.seq, s.dirs, s.batch, s.hidden});
  ox_shape h = ox_shape_of(3, (int64_t[]){s.dirs, s.batch, s.hidden});
  ox_infer_out(c, 0, c->in[IN_X]->dtype, &y);
  ox_infer_out(c, 1, c->in[IN_X]->dtype, &h);
  ox_infer_out(c, 2, c->in[IN_X]->dtype, &h);
  return NULL;
}

/* ---- prepare ---- */

typedef struct attn_prep {
  recurrent_dims d;
  size_t steps, depth, align, seen;
  size_t at[N_IN]; /* of the inputs as doubles */
  int64_t tiles;   /* of their conversion */
} attn_prep;

static bool is_real(uint32_t input) { return input != IN_LENS && input != MEMORY_LENS; }

static ox_status *prepare(ox_kernel_ctx *c) {
  attn_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(recurrent_dims_of(CELL_LSTM, c->attrs, &c->in[IN_X]->shape, &c->in[IN_R]->shape, &p->d));
  p->steps = (size_t)c->in[MEMORY]->shape.dim[1], p->depth = (size_t)c->in[MEMORY]->shape.dim[2];
  p->align = (size_t)c->in[VECTOR]->shape.dim[1];
  p->seen = ox_ctx_has(c, LAYER_W) ? (size_t)c->in[LAYER_W]->shape.dim[2] : p->depth;
  for (uint32_t i = 0; i < N_IN && i < c->n_in; i++)
    if (ox_ctx_has(c, i) && is_real(i)) OX_TRY(ox_as_real_book(c, OX_AS_DOUBLE, i, &p->at[i], &p->tiles));
  size_t n;
  /* gates, state, output; keys and weights of the memory's steps; the projected query, the context, the attention's
   * output */
  if (!ox_mul_ok(p->steps, p->align + 1, &n) || !ox_add_ok(n, 6 * p->d.hidden + p->align + p->depth + p->seen, &n) ||
      n > SIZE_MAX / sizeof(double))
    return ox_fail(OX_LIMIT, "AttnLSTM: a memory of %zu steps", p->steps);
  c->n_stages = 2, c->n_tiles[0] = p->tiles, c->n_tiles[1] = (int64_t)(p->d.dirs * p->d.batch);
  c->scratch_per_worker = n * sizeof(double);
  return NULL;
}

/* ---- run ---- */

typedef struct walk {
  const ox_kernel_ctx *c;
  const attn_prep *p;
  const recurrent_attrs *a;
  size_t dir, b, steps; /* |steps|: of the memory that are not masked out */
  double *gate, *h, *cell, *keys, *weight, *query, *context, *seen;
} walk;

/* Input |i| of this direction, |n| elements for each; NULL: the input is missing. */
static const double *own(const walk *w, uint32_t i, size_t n) {
  return ox_ctx_has(w->c, i) ? (const double *)ox_as_real_at(w->c, w->p->at[i]) + w->dir * n : NULL;
}

/* y = x M, M [n, m] */
static void times(const double *x, const double *m, size_t n, size_t width, double *y) {
  for (size_t j = 0; j < width; j++) y[j] = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < width; j++) y[j] += x[i] * m[i * width + j];
}

static double activate(const walk *w, int which, double x) {
  double clip = (double)w->p->d.clip;
  return ox_act_f64(w->p->d.act[w->dir][which], x < -clip ? -clip : x > clip ? clip : x);
}

static void cell_step(const walk *w, const double *x) {
  size_t n = w->p->d.hidden, in = w->p->d.input, wide = in + w->p->seen;
  const double *weights = own(w, IN_W, 4 * n * wide), *r = own(w, IN_R, 4 * n * n), *bias = own(w, IN_B, 8 * n);
  const double *peep = own(w, IN_P, 3 * n);
  for (size_t g = 0; g < 4 * n; g++) {
    double sum = bias ? bias[g] + bias[4 * n + g] : 0;
    for (size_t k = 0; k < in; k++) sum += x[k] * weights[g * wide + k];
    for (size_t k = 0; k < w->p->seen; k++) sum += w->seen[k] * weights[g * wide + in + k];
    for (size_t k = 0; k < n; k++) sum += w->h[k] * r[g * n + k];
    w->gate[g] = sum;
  }
  for (size_t j = 0; j < n; j++) {
    double c = w->cell[j], pi = peep ? peep[j] : 0, po = peep ? peep[n + j] : 0, pf = peep ? peep[2 * n + j] : 0;
    double i = activate(w, 0, w->gate[j] + pi * c);
    double f = w->a->input_forget ? 1 - i : activate(w, 0, w->gate[2 * n + j] + pf * c);
    c = f * c + i * activate(w, 1, w->gate[3 * n + j]);
    w->cell[j] = c;
    w->h[j] = activate(w, 0, w->gate[n + j] + po * c) * ox_act_f64(w->p->d.act[w->dir][2], c);
  }
}

/* Attends to the memory with the state |h|; the result is |seen|. */
static void look(const walk *w) {
  const attn_prep *p = w->p;
  size_t n = p->d.hidden;
  const double *vector = own(w, VECTOR, p->align), *layer = own(w, LAYER_W, (p->depth + n) * p->seen);
  const double *memory = (const double *)ox_as_real_at(w->c, p->at[MEMORY]) + w->b * p->steps * p->depth;
  double most = -INFINITY, sum = 0;
  times(w->h, own(w, QUERY_W, n * p->align), n, p->align, w->query);
  for (size_t s = 0; s < w->steps; s++) {
    w->weight[s] = 0;
    for (size_t j = 0; j < p->align; j++) w->weight[s] += vector[j] * tanh(w->keys[s * p->align + j] + w->query[j]);
    most = fmax(most, w->weight[s]);
  }
  for (size_t s = 0; s < w->steps; s++) sum += w->weight[s] = exp(w->weight[s] - most);
  for (size_t s = 0; s < w->steps; s++) w->weight[s] /= sum;
  times(w->weight, memory, w->steps, p->depth, w->context);
  if (!layer) {
    memcpy(w->seen, w->context, p->depth * sizeof *w->seen);
    return;
  }
  for (size_t j = 0; j < p->seen; j++) {
    w->seen[j] = 0;
    for (size_t k = 0; k < n; k++) w->seen[j] += w->h[k] * layer[k * p->seen + j];
    for (size_t k = 0; k < p->depth; k++) w->seen[j] += w->context[k] * layer[(n + k) * p->seen + j];
  }
}

static void store(const walk *w, uint32_t o, const double *x, size_t at) {
  if (ox_ctx_wants(w->c, o))
    ox_convert_select(w->c->isa)->store_f64[w->c->out[o]->dtype](x, w->c->out[o]->data, at, w->p->d.hidden, NULL);
}

static void begin(walk *w) {
  const attn_prep *p = w->p;
  size_t n = p->d.hidden, state = recurrent_state(&p->d, w->dir, w->b) - w->dir * p->d.batch * n;
  const double *h = own(w, IN_H, p->d.batch * n), *c = own(w, IN_C, p->d.batch * n);
  const double *memory = (const double *)ox_as_real_at(w->c, p->at[MEMORY]) + w->b * p->steps * p->depth;
  for (size_t j = 0; j < n; j++) w->h[j] = h ? h[state + j] : 0, w->cell[j] = c ? c[state + j] : 0;
  for (size_t j = 0; j < p->seen; j++) w->seen[j] = 0;
  for (size_t s = 0; s < w->steps; s++)
    times(memory + s * p->depth, own(w, MEMORY_W, p->depth * p->align), p->depth, p->align, w->keys + s * p->align);
}

static ox_status *memory_length(const ox_kernel_ctx *c, const attn_prep *p, size_t b, size_t *out) {
  *out = p->steps;
  if (!ox_ctx_has(c, MEMORY_LENS)) return NULL;
  int64_t n = ((const int32_t *)c->in[MEMORY_LENS]->data)[b];
  if (n < 1 || n > (int64_t)p->steps)
    return ox_fail(OX_INVALID_ARGUMENT, "memory_seq_lens[%zu] is %lld of %zu steps", b, (long long)n, p->steps);
  *out = (size_t)n;
  return NULL;
}

static ox_status *run_row(const ox_kernel_ctx *c, size_t tile, const int32_t *lens, double *scratch) {
  const attn_prep *p = c->prep;
  const recurrent_dims *d = &p->d;
  size_t n = d->hidden;
  walk w = {.c = c, .p = p, .a = c->attrs, .dir = tile / d->batch, .b = tile % d->batch, .gate = scratch};
  w.h = w.gate + 4 * n, w.cell = w.h + n, w.keys = w.cell + n, w.weight = w.keys + p->steps * p->align;
  w.query = w.weight + p->steps, w.context = w.query + p->align, w.seen = w.context + p->depth;
  size_t len = lens ? (size_t)lens[w.b] : d->seq;
  OX_TRY(memory_length(c, p, w.b, &w.steps));
  begin(&w);
  for (size_t step = 0; step < d->seq; step++) {
    bool live = step < len;
    size_t t = live && recurrent_backwards(w.a, w.dir) ? len - 1 - step : step;
    if (live) {
      cell_step(&w, (const double *)ox_as_real_at(c, p->at[IN_X]) + recurrent_row(d, t, w.b) * d->input);
      look(&w);
    }
    for (size_t j = 0; j < n && !live; j++) w.gate[j] = 0;
    store(&w, 0, live ? w.h : w.gate, recurrent_y(d, t, w.dir, w.b));
  }
  store(&w, 1, w.h, recurrent_state(d, w.dir, w.b));
  store(&w, 2, w.cell, recurrent_state(d, w.dir, w.b));
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const attn_prep *p = c->prep;
  const int32_t *lens;
  OX_TRY(recurrent_lens(c, &p->d, &lens));
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t t = i;
    bool done = stage != 0;
    for (uint32_t k = 0; k < c->n_in && !done; k++)
      done = ox_ctx_has(c, k) && is_real(k) && ox_as_real_tile(c, OX_AS_DOUBLE, k, p->at[k], &t);
    if (stage == 1) OX_TRY(run_row(c, (size_t)i, lens, scratch));
  }
  return NULL;
}

#define REALS (OX_BIT(OX_F32) | OX_BIT(OX_F64))
static const uint32_t more[] = {REALS, REALS, REALS, REALS, OX_BIT(OX_I32), REALS};
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "AttnLSTM", .domain = "com.microsoft", .since = 1,
               .types = {REALS, REALS, REALS, REALS, OX_BIT(OX_I32), REALS, REALS, REALS}, .more_types = more,
               .vars = "TTTTITTTTTTTIT", .min_in = 3, .max_in = 14, .min_out = 0, .max_out = 3, OX_ATTRS(table),
               .attrs_bytes = sizeof(recurrent_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_attn_lstm = {ops, OX_COUNT(ops)};
