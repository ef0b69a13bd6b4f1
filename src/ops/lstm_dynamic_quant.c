/* SPDX-License-Identifier: Apache-2.0
 * ops/lstm_dynamic_quant.c - com.microsoft.DynamicQuantizeLSTM: LSTM with 8-bit weights. They are widened once, at
 * load; activations stay float32, which is more exact than quantizing them at every step. */
#include "base/cksize.h"
#include "ops/rnn/recurrent.h"

static const ox_attr_def attrs[] = {
    OX_ATTR_STRS(recurrent_attrs, activations),         OX_ATTR_FLOATS(recurrent_attrs, activation_alpha),
    OX_ATTR_FLOATS(recurrent_attrs, activation_beta),   OX_ATTR_FLOAT_HAS(recurrent_attrs, clip, 0),
    OX_ATTR_STR(recurrent_attrs, direction, "forward"), OX_ATTR_INT(recurrent_attrs, hidden_size, 0),
    OX_ATTR_INT(recurrent_attrs, input_forget, 0),
};

enum { W_SCALE = 8, W_ZERO, R_SCALE, R_ZERO, N_IN };

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[IN_X]->shape, *r = &c->in[IN_R]->shape;
  for (uint32_t i = W_SCALE; i < N_IN; i++)
    if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "DynamicQuantizeLSTM: input %u is missing", (unsigned)i);
  if ((x->rank >= 0 && x->rank != 3) || (r->rank >= 0 && r->rank != 3))
    return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: X and R must be 3-D");
  int64_t dirs = r->rank == 3 ? r->dim[0] : -1, hidden = r->rank == 3 ? r->dim[1] : -1;
  int64_t seq = x->rank == 3 ? x->dim[0] : -1, batch = x->rank == 3 ? x->dim[1] : -1;
  if (r->rank == 3 && hidden >= 0 && r->dim[2] >= 0 && r->dim[2] != ox_dim_mul(4, hidden))
    return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: R has %lld columns for %lld hidden values",
                   (long long)r->dim[2], (long long)hidden);
  ox_shape y = ox_shape_of(4, (int64_t[]){seq, dirs, batch, hidden});
  ox_shape h = ox_shape_of(3, (int64_t[]){dirs, batch, hidden});
  ox_infer_out(c, 0, OX_F32, &y);
  ox_infer_out(c, 1, OX_F32, &h);
  ox_infer_out(c, 2, OX_F32, &h);
  return NULL;
}

/* ---- load ---- */
/* [dirs, k, 4 hidden] bytes as [dirs, 4 hidden, k] floats. */
static ox_status *widen(const ox_tensor *q, const ox_tensor *scale, const ox_tensor *zero, ox_arena *temp,
                        ox_tensor *out) {
  int64_t dirs = q->shape.dim[0], k = q->shape.dim[1], n = q->shape.dim[2], scales = ox_shape_count(&scale->shape);
  if ((scales != dirs && scales != dirs * n) || ox_shape_count(&zero->shape) != scales || zero->dtype != q->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: scales and zero points must have %lld or %lld items",
                   (long long)dirs, (long long)(dirs * n));
  float *w = OX_ARENA_ARRAY(temp, float, (size_t)ox_shape_count(&q->shape));
  if (!w) return ox_oom();
  for (int64_t d = 0; d < dirs; d++)
    for (int64_t j = 0; j < n; j++) {
      int64_t s = scales == dirs ? d : d * n + j;
      float factor = ((const ox_f32u *)scale->data)[s];
      int z = q->dtype == OX_U8 ? ((const uint8_t *)zero->data)[s] : ((const int8_t *)zero->data)[s];
      for (int64_t i = 0; i < k; i++) {
        int64_t from = (d * k + i) * n + j;
        int v = q->dtype == OX_U8 ? ((const uint8_t *)q->data)[from] : ((const int8_t *)q->data)[from];
        w[(d * n + j) * k + i] = (float)(v - z) * factor;
      }
    }
  ox_shape shape = ox_shape_of(3, (int64_t[]){dirs, n, k});
  *out = ox_tensor_view(OX_F32, &shape, w);
  return NULL;
}

static const ox_tensor *constant(const ox_load_ctx *c, uint32_t i) { return i < c->n_in ? c->in_const[i] : NULL; }

static ox_status *pack(ox_load_ctx *c, const ox_tensor *const in[4], recurrent_packed *s) {
  ox_shape x = ox_shape_of(3, (int64_t[]){1, 1, in[0]->shape.dim[2]});
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, c->isa);
  recurrent_dims d;
  recurrent_weights w;
  OX_TRY(recurrent_dims_of(CELL_LSTM, c->attrs, &x, &in[1]->shape, &d));
  int64_t n = (int64_t)(d.gates * d.hidden), dirs = (int64_t)d.dirs;
  if (in[0]->shape.dim[0] != dirs || in[0]->shape.dim[1] != n || in[1]->shape.dim[1] != n ||
      (in[2] && ox_shape_count(&in[2]->shape) != dirs * 2 * n) ||
      (in[3] && ox_shape_count(&in[3]->shape) != dirs * 3 * (int64_t)d.hidden))
    return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: W, R, B and P do not fit each other");
  size_t one = recurrent_weights_at(&d, v, in[3] != NULL, NULL, &w);
  if (!ox_mul_ok(one, d.dirs, &s->bytes) || !s->bytes) return NULL;
  if (!(s->base = ox_new_aligned(c->alloc, s->bytes, OX_ALIGN_BYTES))) return ox_oom();
  for (size_t i = 0; i < d.dirs; i++) {
    recurrent_weights_at(&d, v, in[3] != NULL, (char *)s->base + i * one, &s->weights[i]);
    recurrent_pack(&d, v, c->attrs, in, i, &s->weights[i]);
  }
  return NULL;
}

static ox_status *load_from(ox_load_ctx *c, ox_arena *temp, recurrent_packed *s) {
  ox_tensor w = {.kind = OX_TENSOR}, r = w;
  OX_TRY(widen(constant(c, IN_W), constant(c, W_SCALE), constant(c, W_ZERO), temp, &w));
  OX_TRY(widen(constant(c, IN_R), constant(c, R_SCALE), constant(c, R_ZERO), temp, &r));
  const ox_tensor *const in[4] = {&w, &r, constant(c, IN_B), constant(c, IN_P)};
  return pack(c, in, s);
}

static ox_status *load(ox_load_ctx *c) {
  static const uint8_t needed[] = {IN_W, IN_R, W_SCALE, W_ZERO, R_SCALE, R_ZERO}, maybe[] = {IN_B, IN_P};
  ox_arena temp;
  for (size_t i = 0; i < sizeof needed; i++) {
    if (!constant(c, needed[i])) return ox_fail(OX_NOT_IMPLEMENTED, "DynamicQuantizeLSTM with weights that vary");
    c->consumed |= (uint64_t)1 << needed[i];
  }
  for (size_t i = 0; i < sizeof maybe; i++) {
    if (maybe[i] < c->n_in && c->in_type[maybe[i]] && !c->in_const[maybe[i]])
      return ox_fail(OX_NOT_IMPLEMENTED, "DynamicQuantizeLSTM with weights that vary");
    if (constant(c, maybe[i])) c->consumed |= (uint64_t)1 << maybe[i];
  }
  if (constant(c, IN_W)->shape.rank != 3) return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: W must be 3-D");
  recurrent_packed *s = OX_LOAD_NEW(c, recurrent_packed);
  if (!s) return ox_oom();
  ox_arena_init(&temp, c->alloc);
  ox_status *st = load_from(c, &temp, s);
  ox_arena_deinit(&temp);
  c->state = s;
  return st;
}

static void unload(void *state, ox_alloc alloc) {
  recurrent_packed *s = state;
  if (s) ox_delete(alloc, s->base, s->bytes);
}

/* ---- prepare, run: LSTM's, which sees weights in its own order ---- */
typedef struct quant_prep {
  void *lstm;
  ox_tensor r;
} quant_prep;

static ox_kernel_ctx view(const ox_kernel_ctx *c, const quant_prep *p, const ox_tensor **in) {
  ox_kernel_ctx sub = *c;
  for (uint32_t i = 0; i < W_SCALE; i++) in[i] = i < c->n_in ? c->in[i] : NULL;
  in[IN_R] = &p->r;
  sub.in = in, sub.n_in = W_SCALE, sub.prep = p->lstm;
  return sub;
}

static ox_status *check_shapes(const ox_kernel_ctx *c, int64_t dirs, int64_t hidden) {
  const ox_shape *x = &c->in[IN_X]->shape, *w = &c->in[IN_W]->shape;
  const ox_shape state = ox_shape_of(3, (int64_t[]){dirs, x->dim[1], hidden});
  bool ok = x->dim[2] == w->dim[1];
  for (uint32_t i = IN_H; i <= IN_C; i++) ok = ok && (!ox_ctx_has(c, i) || ox_shape_equal(&c->in[i]->shape, &state));
  ok = ok && (!ox_ctx_has(c, IN_LENS) || ox_shape_count(&c->in[IN_LENS]->shape) == x->dim[1]);
  return ok ? NULL : ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: the inputs' shapes do not fit each other");
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *r = &c->in[IN_R]->shape;
  const ox_tensor *in[W_SCALE];
  quant_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(check_shapes(c, r->dim[0], r->dim[1]));
  p->r = (ox_tensor){
      .kind = OX_TENSOR, .dtype = OX_F32, .shape = ox_shape_of(3, (int64_t[]){r->dim[0], r->dim[2], r->dim[1]})};
  ox_kernel_ctx sub = view(c, p, in);
  OX_TRY(recurrent_prepare(&sub, CELL_LSTM));
  p->lstm = sub.prep;
  sub.prep = p, sub.in = c->in, sub.n_in = c->n_in;
  *c = sub;
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ox_tensor *in[W_SCALE];
  ox_kernel_ctx sub = view(c, c->prep, in);
  return recurrent_run(&sub, stage, tiles, scratch);
}

#define F32 OX_BIT(OX_F32)
#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN,
               .min_out = 0, .max_out = 3, .types = {F32, BYTES, BYTES, F32, OX_BIT(OX_I32), F32, F32, F32},
               .vars = ".TT......T.T", .more_types = (const uint32_t[]){F32, BYTES, F32, BYTES}, OX_ATTRS(attrs),
               .attrs_bytes = sizeof(recurrent_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = unload, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_lstm_dynamic_quant = {ops, OX_COUNT(ops)};
