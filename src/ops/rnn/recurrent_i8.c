/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_i8.c - the products of recurrent cells whose weights are bytes. */
#include "ops/rnn/recurrent_i8.h"

#include <string.h>

#include "base/cksize.h"
#include "kern/quant/quantize.h"

bool recurrent_is_i8(const ox_kernel_ctx *c, ox_shape *r) {
  const ox_tensor *t = c->in[IN_R];
  *r = t->shape;
  if (t->dtype != OX_I8 && t->dtype != OX_U8) return false;
  r->dim[1] = t->shape.dim[2], r->dim[2] = t->shape.dim[1];
  return true;
}

static size_t columns(const recurrent_dims *d) { return d->gates * d->hidden; }
static size_t count_of(const ox_kernel_ctx *c, uint32_t i) { return (size_t)ox_shape_count(&c->in[i]->shape); }
static size_t book(size_t *at, size_t bytes) {
  size_t here = *at;
  *at += OX_ROUND_UP(bytes, (size_t)OX_ALIGN_BYTES);
  return here;
}

bool recurrent_i8_plan(const ox_kernel_ctx *c, const recurrent_dims *d, size_t rows, bool alone, recurrent_i8 *q) {
  enum { PARTS = 16 };
  size_t x, n = columns(d);
  q->v = ox_gemm_i8_select(c->isa);
  if (!ox_mul_ok(d->seq, d->batch, &x) || !ox_mul_ok(x, d->input, &x) || x > SIZE_MAX / 4) return false;
  ox_gemm_i8_plan_init(&q->project, q->v, d->seq * d->batch, n, d->input);
  ox_gemm_i8_plan_init(&q->step, q->v, rows, n, d->hidden);
  q->parts = alone ? PARTS : 1, q->bytes = 0;
  book(&q->bytes, sizeof(recurrent_bytes));
  q->at_scale[0] = book(&q->bytes, count_of(c, IN_W_SCALE) * sizeof(float));
  q->at_scale[1] = book(&q->bytes, count_of(c, IN_R_SCALE) * sizeof(float));
  q->at_x = book(&q->bytes, x);
  return true;
}

/* ---- weights ---- */
size_t recurrent_i8_weights_at(const recurrent_i8 *q, const recurrent_dims *d, bool peep, void *base,
                               recurrent_weights *out) {
  size_t bytes = 0, n = columns(d);
  size_t w = book(&bytes, ox_gemm_i8_b_bytes(q->v, d->input, n)),
         r = book(&bytes, ox_gemm_i8_b_bytes(q->v, d->hidden, n));
  size_t bias = book(&bytes, n * sizeof(float)), peeps = book(&bytes, peep ? 3 * d->hidden * sizeof(float) : 0);
  char *p = base;
  *out = (recurrent_weights){0};
  if (p) out->w = p + w, out->r = p + r, out->bias = (float *)(void *)(p + bias);
  if (p && peep) out->peep = (float *)(void *)(p + peeps);
  return bytes;
}

typedef struct packing {
  const recurrent_i8 *q;
  const recurrent_dims *d;
  const recurrent_attrs *attrs;
  bool peep;
  size_t bytes; /* of a direction */
} packing;

/* Units of packing per direction: the biases, then panels of W, then of R. */
static size_t units_of(const packing *k) { return 1 + 2 * ox_gemm_i8_panels(k->q->v, columns(k->d)); }

static void pack_unit(const packing *k, const ox_tensor *const in[4], size_t dir, size_t unit,
                      const recurrent_weights *to) {
  size_t panels = ox_gemm_i8_panels(k->q->v, columns(k->d)), n = columns(k->d);
  if (unit == 0) {
    recurrent_pack_biases(k->d, k->attrs, in, dir, to);
    return;
  }
  bool of_r = unit > panels;
  const ox_tensor *t = in[of_r];
  size_t rows = of_r ? k->d->hidden : k->d->input, panel = (unit - 1) % panels;
  ox_gemm_i8_pack_b(k->q->v, (const char *)t->data + dir * rows * n, t->dtype == OX_I8, (ptrdiff_t)n, 1, rows, n, panel,
                    panel + 1, of_r ? to->r : to->w, NULL);
}

void recurrent_i8_pack(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                       const recurrent_weights *to) {
  const packing k = {.q = q, .d = d, .attrs = c->attrs};
  const ox_tensor *const in[4] = {c->in[IN_W], c->in[IN_R], recurrent_in(c, IN_B), recurrent_in(c, IN_P)};
  for (size_t u = 0; u < units_of(&k) && !ox_ctx_stopped(c); u++) pack_unit(&k, in, dir, u, to);
}

static const uint32_t slots[4] = {IN_W, IN_R, IN_B, IN_P};

static void pack_units(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                       void *scratch) {
  const packing *k = p->arg;
  const ox_tensor *from[4];
  (void)scratch;
  for (int i = 0; i < 4; i++) from[i] = p->inputs >> slots[i] & 1 ? in[slots[i]] : NULL;
  for (int64_t u = begin; u < end; u++) {
    size_t dir = (size_t)u / units_of(k);
    recurrent_weights w;
    recurrent_i8_weights_at(k->q, k->d, k->peep, (char *)to + dir * k->bytes, &w);
    pack_unit(k, from, dir, (size_t)u % units_of(k), &w);
  }
}

ox_status *recurrent_i8_pack_const(ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d,
                                   const void **out_base) {
  packing k = {.q = q, .d = d, .attrs = c->attrs, .peep = recurrent_in(c, IN_P) != NULL};
  ox_pack p = {.struct_size = sizeof p, .fn = pack_units, .arg = &k};
  recurrent_weights w;
  for (int i = 0; i < 4; i++)
    if (recurrent_in(c, slots[i])) p.inputs |= (uint64_t)1 << slots[i];
  k.bytes = recurrent_i8_weights_at(q, d, k.peep, NULL, &w);
  p.n_units = (int64_t)(units_of(&k) * d->dirs);
  if (!ox_mul_ok(k.bytes, d->dirs, &p.bytes)) return ox_oom();
  return ox_ctx_pack(c, &p, out_base);
}

/* ---- the left sides ---- */
ox_status *recurrent_i8_ready(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, void *shared) {
  const ox_quantize_table *t = ox_quantize_select(c->isa);
  recurrent_bytes *x = shared;
  const int32_t *lens;
  size_t steps = 0;
  float low = 0, high = 0;
  OX_TRY(recurrent_lens(c, d, &lens));
  for (size_t b = 0; lens && b < d->batch; b++) steps = OX_MAX(steps, (size_t)lens[b]);
  size_t n = (lens ? steps : d->seq) * d->batch * d->input;
  t->range(c->in[IN_X]->data, n, &low, &high);
  x->scale = ox_dynamic_scale(low, high, &x->zero), x->data = (uint8_t *)shared + q->at_x;
  t->f32_u8(c->in[IN_X]->data, x->data, n, x->scale, x->zero);
  memset(x->data + n, x->zero, d->seq * d->batch * d->input - n);
  memcpy((char *)shared + q->at_scale[0], c->in[IN_W_SCALE]->data, count_of(c, IN_W_SCALE) * sizeof(float));
  memcpy((char *)shared + q->at_scale[1], c->in[IN_R_SCALE]->data, count_of(c, IN_R_SCALE) * sizeof(float));
  return NULL;
}

void recurrent_i8_state(const ox_kernel_ctx *c, const ox_rnn_step *s, recurrent_bytes *to) {
  const ox_quantize_table *t = ox_quantize_select(c->isa);
  float low = 0, high = 0;
  if (!s->lens) t->range(s->h, s->rows * s->hidden, &low, &high);
  for (size_t r = 0; s->lens && r < s->rows; r++)
    if (s->step <= s->lens[r]) t->range(s->h + r * s->hidden, s->hidden, &low, &high);
  to->scale = ox_dynamic_scale(low, high, &to->zero);
  t->f32_u8(s->h, to->data, s->rows * s->hidden, to->scale, to->zero);
}

/* ---- products ---- */
/* |which|: 0 with W, 1 with R. */
static ox_gemm_i8_io product(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, int which,
                             size_t dir, const void *shared, const recurrent_bytes *a, ox_gemm_i8_out *out) {
  const ox_tensor *b = c->in[which ? IN_R : IN_W], *zero = c->in[which ? IN_R_ZERO : IN_W_ZERO];
  size_t n = columns(d), each = count_of(c, which ? IN_R_SCALE : IN_W_SCALE) != d->dirs, at = dir * (each ? n : 1);
  *out = (ox_gemm_i8_out){.type = OX_F32,
                          .row_scale = &a->scale,
                          .col_scale = (const float *)(const void *)((const char *)shared + q->at_scale[which]) + at,
                          .col_step = each};
  return (ox_gemm_i8_io){.a = a->data,
                         .a_rs = (ptrdiff_t)(which ? d->hidden : d->input),
                         .a_ks = 1,
                         .a_zero = &a->zero,
                         .b_signed = b->dtype == OX_I8,
                         .b_zero = (const char *)zero->data + at,
                         .b_zero_step = each,
                         .out = out,
                         .c_rs = recurrent_gates_rs(d),
                         .stop = ox_ctx_stop(c)};
}

void recurrent_i8_project(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                          const recurrent_weights *w, const void *shared, float *to, size_t tile, void *scratch) {
  ox_gemm_i8_out out;
  ox_gemm_i8_io io = product(c, q, d, 0, dir, shared, shared, &out);
  io.packed = w->w, io.c = to;
  ox_gemm_i8_run(&q->project, &io, tile, scratch);
}

ox_gemm_i8_io recurrent_i8_step(const ox_kernel_ctx *c, const recurrent_i8 *q, const recurrent_dims *d, size_t dir,
                                const recurrent_weights *w, const void *shared, const recurrent_bytes *h,
                                const ox_gemm_term *x, ox_gemm_i8_out *out) {
  ox_gemm_i8_io io = product(c, q, d, 1, dir, shared, h, out);
  out->term = x->p, out->term_rs = (size_t)x->rs, out->bias = w->bias;
  io.packed = w->r;
  return io;
}
