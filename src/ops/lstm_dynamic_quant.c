/* SPDX-License-Identifier: Apache-2.0
 * ops/lstm_dynamic_quant.c - com.microsoft.DynamicQuantizeLSTM: LSTM with 8-bit weights. They are widened once, at
 * load, or by the first stage of each run if they are not constant; activations stay float32, which is more exact than
 * quantizing them at every step. */
#include <string.h>

#include "base/cksize.h"
#include "ops/rnn/recurrent.h"
#include "ops/shared/check.h"

static const ox_attr_def attrs[] = {
    RECURRENT_ATTR_ROWS,
};

enum { W_SCALE = 8, W_ZERO, R_SCALE, R_ZERO, N_IN };

static ox_status *bad(const char *what, const ox_shape *s) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: %s %s does not fit the other inputs", what,
                 ox_shape_text(s, text));
}

/* |s|: by input, NULL if absent. */
static ox_status *check_shapes(const recurrent_attrs *a, const ox_shape *const *s) {
  static const char *const names[N_IN] = {"X",         "W",           "R", "B",       "sequence_lens",
                                          "initial_h", "initial_c",   "P", "W_scale", "W_zero_point",
                                          "R_scale",   "R_zero_point"};
  const ox_shape *x = s[IN_X], *r = s[IN_R];
  int64_t dirs = strcmp(a->direction, "bidirectional") == 0 ? 2 : 1, hidden = r->rank == 3 ? r->dim[1] : -1;
  int64_t input = x->rank == 3 ? x->dim[2] : -1, batch = x->rank == 3 ? x->dim[1] : -1, n = ox_dim_mul(4, hidden);
  const int64_t want[IN_P + 1][3] = {
      {-1, -1, -1}, {dirs, input, n},      {dirs, hidden, n},     {dirs, ox_dim_mul(2, n)},
      {batch},      {dirs, batch, hidden}, {dirs, batch, hidden}, {dirs, ox_dim_mul(3, hidden)}};
  static const int rank[IN_P + 1] = {3, 3, 3, 2, 1, 3, 3, 2};
  for (int i = 0; i <= IN_P; i++)
    if (s[i] && !ox_shape_is(s[i], rank[i], want[i])) return bad(names[i], s[i]);
  for (int i = W_SCALE; i < N_IN; i++)
    if (!s[i]) return ox_fail(OX_INVALID_MODEL, "DynamicQuantizeLSTM: input %s is missing", names[i]);
  for (int i = W_SCALE; i < N_IN; i++) {
    int64_t count = ox_shape_count(s[i]), other = ox_shape_count(s[i ^ 1]); /* a scale and its zero point are a pair */
    if ((count >= 0 && hidden >= 0 && count != dirs && count != ox_dim_mul(dirs, n)) ||
        (count >= 0 && other >= 0 && other != count))
      return bad(names[i], s[i]);
  }
  return NULL;
}
_Static_assert(W_SCALE % 2 == 0 && R_SCALE % 2 == 0, "pairs");

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *s[N_IN];
  for (uint32_t i = 0; i < N_IN; i++) s[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, s));
  const ox_shape *x = s[IN_X], *r = s[IN_R];
  int64_t dirs = r->rank == 3 ? r->dim[0] : -1, hidden = r->rank == 3 ? r->dim[1] : -1;
  int64_t seq = x->rank == 3 ? x->dim[0] : -1, batch = x->rank == 3 ? x->dim[1] : -1;
  ox_shape y = ox_shape_of(4, (int64_t[]){seq, dirs, batch, hidden});
  ox_shape h = ox_shape_of(3, (int64_t[]){dirs, batch, hidden});
  ox_infer_out(c, 0, OX_F32, &y);
  ox_infer_out(c, 1, OX_F32, &h);
  ox_infer_out(c, 2, OX_F32, &h);
  return NULL;
}

/* ---- weights ---- */
/* Direction |d| of [dirs, k, 4 hidden] bytes as [4 hidden, k] floats. */
static void widen(const ox_tensor *q, const ox_tensor *scale, const ox_tensor *zero, int64_t d, float *to,
                  const ox_stop *stop) {
  int64_t dirs = q->shape.dim[0], k = q->shape.dim[1], n = q->shape.dim[2];
  bool each = ox_shape_count(&scale->shape) != dirs;
  for (int64_t j = 0; j < n && !(stop && j % 16 == 15 && ox_stop_asked(stop)); j++) {
    int64_t s = each ? d * n + j : d;
    float factor = ((const ox_f32u *)scale->data)[s];
    int z = q->dtype == OX_U8 ? ((const uint8_t *)zero->data)[s] : ((const int8_t *)zero->data)[s];
    for (int64_t i = 0; i < k; i++) {
      int64_t from = (d * k + i) * n + j;
      int v = q->dtype == OX_U8 ? ((const uint8_t *)q->data)[from] : ((const int8_t *)q->data)[from];
      to[j * k + i] = (float)(v - z) * factor;
    }
  }
}

/* The shape that LSTM has for the weights in |q|. */
static ox_shape widened(const ox_tensor *q) {
  return ox_shape_of(3, (int64_t[]){q->shape.dim[0], q->shape.dim[2], q->shape.dim[1]});
}

/* ---- load ---- */
static const ox_tensor *constant(const ox_load_ctx *c, uint32_t i) { return i < c->n_in ? c->in_const[i] : NULL; }

static ox_status *widen_all(const ox_load_ctx *c, uint32_t in, uint32_t scale, ox_arena *temp, ox_tensor *out) {
  const ox_tensor *q = constant(c, in);
  ox_shape shape = widened(q);
  float *w = OX_ARENA_ARRAY(temp, float, (size_t)ox_shape_count(&shape));
  if (!w) return ox_oom();
  ox_stop stop = ox_load_stop(c);
  for (int64_t d = 0; d < q->shape.dim[0]; d++)
    widen(q, constant(c, scale), constant(c, scale + 1), d, w + d * q->shape.dim[1] * q->shape.dim[2], &stop);
  *out = ox_tensor_view(OX_F32, &shape, w);
  return NULL;
}

static ox_status *pack(ox_load_ctx *c, const ox_tensor *const in[4], recurrent_packed *s) {
  ox_shape x = ox_shape_of(3, (int64_t[]){1, 1, in[0]->shape.dim[2]});
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, c->isa);
  recurrent_dims d;
  recurrent_weights w;
  OX_TRY(recurrent_dims_of(CELL_LSTM, c->attrs, &x, &in[1]->shape, &d));
  size_t one = recurrent_weights_at(&d, v, in[3] != NULL, NULL, &w);
  if (!ox_mul_ok(one, d.dirs, &s->bytes) || !s->bytes) return NULL;
  if (!(s->base = ox_new_aligned(c->alloc, s->bytes, OX_ALIGN_BYTES))) return ox_oom();
  ox_stop stop = ox_load_stop(c);
  for (size_t i = 0; i < d.dirs; i++) {
    recurrent_weights_at(&d, v, in[3] != NULL, (char *)s->base + i * one, &s->weights[i]);
    recurrent_pack(&d, v, c->attrs, in, i, &s->weights[i], &stop);
  }
  return NULL;
}

static ox_status *load_from(ox_load_ctx *c, ox_arena *temp, recurrent_packed *s) {
  ox_tensor w = {.kind = OX_TENSOR}, r = w;
  OX_TRY(widen_all(c, IN_W, W_SCALE, temp, &w));
  OX_TRY(widen_all(c, IN_R, R_SCALE, temp, &r));
  const ox_tensor *const in[4] = {&w, &r, constant(c, IN_B), constant(c, IN_P)};
  return pack(c, in, s);
}

static ox_status *load(ox_load_ctx *c) {
  static const uint8_t weights[] = {IN_W, IN_R, W_SCALE, W_ZERO, R_SCALE, R_ZERO, IN_B, IN_P};
  const ox_shape *shape[N_IN];
  uint64_t consumed = 0;
  ox_arena temp;
  for (size_t i = 0; i < sizeof weights; i++) {
    if (weights[i] >= c->n_in || !c->in_type[weights[i]]) continue;
    if (!c->in_const[weights[i]]) return NULL; /* each run widens and packs them */
    consumed |= (uint64_t)1 << weights[i];
  }
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = i < c->n_in && c->in_type[i] ? &c->in_type[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, shape));
  recurrent_packed *s = OX_LOAD_NEW(c, recurrent_packed);
  if (!s) return ox_oom();
  ox_arena_init(&temp, c->alloc);
  ox_status *st = load_from(c, &temp, s);
  ox_arena_deinit(&temp);
  c->state = s, c->consumed = consumed;
  return st;
}

static void unload(void *state, ox_alloc alloc) {
  recurrent_packed *s = state;
  if (s) ox_delete(alloc, s->base, s->bytes);
}

/* ---- prepare, run: LSTM's, which sees weights in its own order ---- */
typedef struct quant_prep {
  void *lstm;
  bool widens; /* stage 0: W and R into the shared memory, a tile for each direction of each */
  size_t w_at, r_at;
} quant_prep;

/* What LSTM sees. */
typedef struct lstm_view {
  ox_kernel_ctx c;
  const ox_tensor *in[W_SCALE];
  ox_tensor w, r;
} lstm_view;

static void view(const ox_kernel_ctx *c, const quant_prep *p, lstm_view *v) {
  for (uint32_t i = 0; i < W_SCALE; i++) v->in[i] = i < c->n_in ? c->in[i] : NULL;
  v->w = (ox_tensor){.kind = OX_TENSOR, .dtype = OX_F32, .shape = widened(c->in[IN_W])};
  v->r = (ox_tensor){.kind = OX_TENSOR, .dtype = OX_F32, .shape = widened(c->in[IN_R])};
  if (p->widens && c->shared) v->w.data = (char *)c->shared + p->w_at, v->r.data = (char *)c->shared + p->r_at;
  v->in[IN_W] = &v->w, v->in[IN_R] = &v->r;
  v->c = *c, v->c.in = v->in, v->c.n_in = W_SCALE, v->c.prep = p->lstm;
}

/* Behind LSTM's shared memory. */
static ox_status *book_widening(ox_kernel_ctx *c, quant_prep *p) {
  size_t w, r;
  if (c->n_stages >= OX_MAX_STAGES || c->shared_bytes > SIZE_MAX / 4 ||
      !ox_mul_ok((size_t)ox_shape_count(&c->in[IN_W]->shape), sizeof(float), &w) ||
      !ox_mul_ok((size_t)ox_shape_count(&c->in[IN_R]->shape), sizeof(float), &r))
    return ox_oom();
  p->w_at = OX_ROUND_UP(c->shared_bytes, (size_t)OX_ALIGN_BYTES);
  p->r_at = p->w_at + OX_ROUND_UP(w, (size_t)OX_ALIGN_BYTES);
  c->shared_bytes = p->r_at + r;
  for (uint32_t i = c->n_stages; i > 0; i--) c->n_tiles[i] = c->n_tiles[i - 1];
  c->n_stages++, c->n_tiles[0] = 2 * c->in[IN_R]->shape.dim[0];
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[N_IN];
  lstm_view v;
  quant_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, shape));
  p->widens = !c->state;
  view(c, p, &v);
  OX_TRY(recurrent_prepare(&v.c, CELL_LSTM));
  p->lstm = v.c.prep;
  v.c.prep = p, v.c.in = c->in, v.c.n_in = c->n_in;
  *c = v.c;
  return p->widens ? book_widening(c, p) : NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const quant_prep *p = c->prep;
  lstm_view v;
  view(c, p, &v);
  if (!p->widens) return recurrent_run(&v.c, stage, tiles, scratch);
  if (stage > 0) return recurrent_run(&v.c, stage - 1, tiles, scratch);
  ox_stop stop = ox_ctx_stop(c);
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    const ox_tensor *q = c->in[i % 2 ? IN_R : IN_W];
    float *to = (float *)(i % 2 ? v.r.data : v.w.data) + i / 2 * q->shape.dim[1] * q->shape.dim[2];
    widen(q, c->in[i % 2 ? R_SCALE : W_SCALE], c->in[i % 2 ? R_ZERO : W_ZERO], i / 2, to, &stop);
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  lstm_view v;
  view(c, c->prep, &v);
  return recurrent_flops(&v.c);
}

#define F32 OX_BIT(OX_F32)
#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN,
               .min_out = 0, .max_out = 3, .types = {F32, BYTES, BYTES, F32, OX_BIT(OX_I32), F32, F32, F32},
               .vars = ".TT......T.T", .more_types = (const uint32_t[]){F32, BYTES, F32, BYTES}, OX_ATTRS(attrs),
               .attrs_bytes = sizeof(recurrent_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = unload, .prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_lstm_dynamic_quant = {ops, OX_COUNT(ops)};
