/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_weights_bytes.c - 8-bit weights.
 *
 * The library takes signed weights without a zero point, with one scale or one for each channel, and unsigned weights
 * with a zero point and one scale; input and output have the signedness of the weights. Since signed and unsigned bytes
 * differ in the top bit only (and their zero points by 128), activations of either type work with either kind. */
#include <math.h>
#include <string.h>

#include "xp_ops_weights.h"

bool xp_as_bytes(const xp_build *b, const xp_job *j, xp_bytes_job *out) {
  const xp_graph *g = &b->g;
  const xp_value *x = &b->values[j->x];
  size_t w = xp_dequantizer(g, j->w);
  if (!x->from_bytes || w == SIZE_MAX || j->tail.quantized == UINT32_MAX) return false;
  *out = (xp_bytes_job){.x = x->bytes,
                        .y = j->tail.quantized,
                        .x_quant = x->quant,
                        .y_quant = j->tail.quant,
                        .w = xp_in(g, w, 0),
                        .w_scale = xp_in(g, w, 1),
                        .w_zero = xp_in(g, w, 2),
                        .bias = j->b};
  if (xp_type(g, out->w) != OX_U8 && xp_type(g, out->w) != OX_I8) return false;
  const ox_tensor *s = g->h->value_const(g->g, out->w_scale);
  return s && (s->bytes == sizeof(float) || xp_attr_int(g, w, "axis", 1) == 0); /* it has scales of axis 0 only */
}

/* Transposes a matrix [inner][area] to [area][inner], whose rows are |step| elements apart. */
#define MOVE(name, type)                                                                                   \
  static void move_##name(const type *from, type *to, size_t inner, size_t area, size_t step, type flip) { \
    for (size_t a = 0; a < area; a++)                                                                      \
      for (size_t i = 0; i < inner; i++) to[a * step + i] = from[i * area + a] ^ flip;                     \
  }
MOVE(words, uint32_t)
MOVE(bytes, uint8_t)

static void move(const void *from, size_t from_at, void *to, size_t to_at, size_t inner, size_t area, size_t step,
                 size_t size, uint8_t flip) {
  if (size == 4)
    move_words((const uint32_t *)from + from_at, (uint32_t *)to + to_at, inner, area, step, 0);
  else
    move_bytes((const uint8_t *)from + from_at, (uint8_t *)to + to_at, inner, area, step, flip);
}

/* Reorders the weights to the library's [output channels][area][input channels of the group]. */
static ox_status *move_kernel(xp_build *b, xp_job *j, const void *from, size_t size, uint8_t flip) {
  const xp_recipe *r = &j->recipe;
  size_t outer = (size_t)j->outer, inner = (size_t)j->inner, area = (size_t)j->area, n = outer * inner * area;
  void *to = xp_arena_get(&b->scratch, n + XNN_EXTRA_BYTES, size);
  if (!to) return xp_oom(b->ep);
  if (r->op != XP_DECONV)
    for (size_t o = 0; o < outer; o++)
      move(from, o * inner * area, to, o * inner * area, inner, area, inner, size, flip);
  else /* ONNX has [groups][input channels][output channels][area]: channels are transposed, too */
    for (size_t o = 0; o < outer; o++)
      for (size_t i = 0; i < inner; i++)
        move(from, (o * inner + i) * area, to,
             (o / r->channels_in * inner + i) * area * r->channels_in + o % r->channels_in, 1, area, r->channels_in,
             size, flip);
  j->recipe.kernel = to, j->recipe.kernel_bytes = n * size;
  return NULL;
}

static size_t channels(const xp_recipe *r) { return (size_t)r->groups * r->channels_out; }

/* Reads the weights' scales and their common zero point. False: zero points differ, or counts or values do not fit. */
static bool read_scales(const xp_build *b, const xp_bytes_job *q, const xp_recipe *r, float *scales, size_t *out_n,
                        int32_t *out_zero) {
  const ox_ep_host *h = b->g.h;
  const ox_tensor *s = h->value_const(b->g.g, q->w_scale);
  const ox_tensor *z = q->w_zero == UINT32_MAX ? NULL : h->value_const(b->g.g, q->w_zero);
  size_t n = s ? s->bytes / sizeof(float) : 0;
  if (!s || s->dtype != OX_F32 || (n != 1 && n != channels(r)) || (q->w_zero != UINT32_MAX && !z)) return false;
  memcpy(scales, s->data, n * sizeof *scales);
  for (size_t i = 0; i < n; i++)
    if (!(scales[i] > 0) || !isnormal(scales[i])) return false;
  *out_n = n, *out_zero = 0;
  for (size_t i = 0; z && i < z->bytes; i++) {
    int32_t zero = z->dtype == OX_U8 ? ((const uint8_t *)z->data)[i] : ((const int8_t *)z->data)[i];
    if (i && zero != *out_zero) return false;
    *out_zero = zero;
  }
  return true;
}

/* The library asserts this, and is built with assertions enabled. */
static bool can_requantize(const xp_recipe *r, const float *scales, size_t n_scales) {
  for (size_t i = 0; i < n_scales; i++)
    if (!xp_can_requantize(r->x_scale, scales[i], r->y_scale)) return false;
  return true;
}

/* The bias as integers in units of x_scale * w_scale. */
static ox_status *read_bias(xp_build *b, xp_job *j, const xp_bytes_job *q, const float *scales, size_t n_scales,
                            bool *out_fits) {
  const ox_ep_host *h = b->g.h;
  size_t n = channels(&j->recipe), node;
  if ((j->recipe.has_bias = q->bias != UINT32_MAX) == 0) return NULL;
  int32_t *bias = xp_arena_get(&b->scratch, n, sizeof *bias);
  if (!bias) return xp_oom(b->ep);
  j->recipe.bias = bias;
  const ox_tensor *c = h->value_const(b->g.g, q->bias);
  node = xp_dequantizer(&b->g, q->bias);
  if (c && c->dtype == OX_I32) {
    *out_fits = c->bytes == n * sizeof *bias;
    if (*out_fits) memcpy(bias, c->data, c->bytes);
    return NULL;
  }
  const float *floats;
  xp_dims d;
  XP_TRY(xp_floats(b, q->bias, &b->scratch, &floats, &d));
  *out_fits = xp_elements(&d) == n;
  const ox_tensor *exact = node == SIZE_MAX ? NULL : h->value_const(b->g.g, xp_in(&b->g, node, 0));
  for (size_t i = 0; *out_fits && i < n; i++) {
    double by = (double)j->recipe.x_scale * (double)scales[n_scales > 1 ? i : 0], y = rint((double)floats[i] / by);
    if (fabs(y) > INT32_MAX) *out_fits = false;
    if (!*out_fits) break;
    bias[i] = (int32_t)y;
    int32_t given; /* the model's own integer: floats round large ones */
    if (exact && exact->dtype == OX_I32 && exact->bytes == n * 4) {
      memcpy(&given, (const char *)exact->data + i * 4, 4);
      if (fabs((double)given - y) <= 1e-6 * fabs(y)) bias[i] = given;
    }
  }
  return NULL;
}

/* Chooses the arithmetic and reorders the weights for it. */
static ox_status *choose(xp_build *b, xp_job *j, const xp_bytes_job *q, const float *scales, size_t n_scales,
                         int32_t zero, bool *out_fits) {
  xp_recipe *r = &j->recipe;
  const ox_tensor *w = b->g.h->value_const(b->g.g, q->w);
  bool is_unsigned = w->dtype == OX_U8, as_signed = zero == (is_unsigned ? 128 : 0);
  if (w->bytes != (size_t)(j->outer * j->inner * j->area)) *out_fits = false;
  bool conv = j->kind == &xp_kind_conv || j->kind == &xp_kind_pointwise;
  if (n_scales > 1 && (!as_signed || !conv)) *out_fits = false;
  if (!*out_fits) return NULL;
  r->arithmetic = !as_signed ? XP_AS_U8 : n_scales > 1 ? XP_AS_S8_CHANNELS : XP_AS_S8;
  r->w_scale = n_scales == 1 ? scales[0] : 0;
  r->w_scales = n_scales > 1 ? scales : NULL;
  r->w_zero = as_signed ? 0 : is_unsigned ? zero : zero + 128;
  return move_kernel(b, j, w->data, 1, is_unsigned == as_signed ? 0x80 : 0);
}

/* |w|: the model's weights, which are no longer needed as the library has packed them. */
static ox_status *finish(xp_build *b, xp_job *j, uint32_t w, uint32_t x, uint32_t y, uint32_t type, xp_shared *shared) {
  xp_step *s;
  uint32_t in;
  ox_status *st = xp_need(b, x, type, j->last, &in);
  if (!st) st = xp_add(b, j->node, j->kind, &in, 1, y, type, j->last && b->p->tensors[in].last, &s);
  if (st) return xp_shared_release(shared), st;
  b->g.h->constant_done(b->g.g, w);
  s->shared = shared, s->which = (int)j->recipe.arithmetic, s->window = j->recipe.window;
  s->channels_in = (int64_t)j->recipe.groups * j->recipe.channels_in;
  s->channels_out = (int64_t)channels(&j->recipe);
  s->drop_columns = j->drop_columns;
  return NULL;
}

ox_status *xp_build_bytes(xp_build *b, xp_job *j, const xp_bytes_job *q, bool *out_taken) {
  xp_recipe *r = &j->recipe;
  const xp_recipe before = *r;
  size_t n_scales;
  int32_t zero;
  bool fits = true;
  *out_taken = false;
  float *scales = xp_arena_get(&b->scratch, channels(r), sizeof *scales);
  if (!scales) return xp_oom(b->ep);
  if (!read_scales(b, q, r, scales, &n_scales, &zero)) return NULL;
  XP_TRY(choose(b, j, q, scales, n_scales, zero, &fits));
  uint32_t type = r->arithmetic == XP_AS_U8 ? OX_U8 : OX_I8;
  const xp_quant x = xp_quant_as(q->x_quant, xp_type(&b->g, q->x), type);
  const xp_quant y = xp_quant_as(q->y_quant, xp_type(&b->g, q->y), type);
  r->x_scale = x.scale, r->x_zero = x.zero, r->y_scale = y.scale, r->y_zero = y.zero;
  if (fits) fits = can_requantize(r, scales, n_scales);
  if (fits) fits = xp_tail_bytes(&j->tail, &y, type == OX_I8, &r->q_lo, &r->q_hi);
  if (fits) XP_TRY(read_bias(b, j, q, scales, n_scales, &fits));
  enum xnn_status answer = xnn_status_unsupported_parameter;
  xp_shared *shared = NULL;
  if (fits) answer = xp_shared_get(r, &shared);
  if (answer == xnn_status_out_of_memory) return xp_oom(b->ep);
  if (answer != xnn_status_success) {
    *r = before;
    return NULL;
  }
  *out_taken = true;
  return finish(b, j, q->w, q->x, q->y, type, shared);
}

ox_status *xp_build_floats(xp_build *b, xp_job *j) {
  xp_recipe *r = &j->recipe;
  const float *w, *bias = NULL;
  xp_dims d;
  XP_TRY(xp_floats(b, j->w, &b->scratch, &w, &d));
  if (xp_elements(&d) != (size_t)(j->outer * j->inner * j->area))
    return xp_fail(b->ep, OX_INVALID_MODEL, "xnnpack: weights of another size");
  r->kernel = w, r->kernel_bytes = xp_elements(&d) * sizeof *w;
  if (j->area > 1 || r->op == XP_DECONV) XP_TRY(move_kernel(b, j, w, sizeof *w, 0));
  if (j->b != UINT32_MAX && !r->has_bias) {
    XP_TRY(xp_floats(b, j->b, &b->scratch, &bias, &d));
    size_t n = xp_elements(&d);
    if (n != channels(r)) return xp_fail(b->ep, OX_INVALID_MODEL, "xnnpack: a bias of another size");
    r->bias = bias, r->has_bias = 1;
  }
  r->arithmetic = XP_AS_F32, r->lo = j->tail.lo, r->hi = j->tail.hi;
  xp_shared *shared;
  const ox_ep_host *h = b->g.h;
  XP_TRY(xp_check(b->ep, xp_shared_get(r, &shared), h->node_op(b->g.g, j->node), h->node_name(b->g.g, j->node)));
  size_t from = xp_dequantizer(&b->g, j->w);
  return finish(b, j, from == SIZE_MAX ? j->w : xp_in(&b->g, from, 0), j->x, j->tail.out, OX_F32, shared);
}
