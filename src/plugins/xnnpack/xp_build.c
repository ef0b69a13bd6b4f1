/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_build.c - see xp_build.h. */
#include "xp_build.h"

#include <math.h>
#include <string.h>

#include "xp_library.h"

/* ---- tensors and steps ---- */

/* Doubles |*array| if its |n| elements of |size| bytes fill it. */
static bool make_room(xp_build *b, void **array, uint32_t n, uint32_t *room, size_t size) {
  if (n < *room) return true;
  uint32_t more = *room ? 2 * *room : 32;
  void *to = xp_arena_get(&b->p->arena, more, size);
  if (to && n) memcpy(to, *array, n * size);
  if (to) *array = to, *room = more;
  return to != NULL;
}

static ox_status *add_tensor(xp_build *b, const xp_tensor *t, uint32_t *out) {
  void *array = b->p->tensors;
  if (!make_room(b, &array, b->p->n_tensors, &b->tensor_room, sizeof *t)) return xp_oom(b->ep);
  b->p->tensors = array;
  *out = b->p->n_tensors++;
  b->p->tensors[*out] = *t;
  return NULL;
}

static void *form_of(xp_build *b, uint32_t value, uint32_t type, bool last) {
  return &b->values[value].form[last + 2 * (type == OX_U8 || type == OX_F16)];
}

ox_status *xp_add(xp_build *b, size_t node, const xp_kind *kind, const uint32_t *in, uint32_t n_in, uint32_t value,
                  uint32_t type, bool last, xp_step **out) {
  ox_program *p = b->p;
  void *array = p->steps;
  if (!make_room(b, &array, p->n_steps, &b->step_room, sizeof(xp_step))) return xp_oom(b->ep);
  p->steps = array;
  uint32_t *ins = xp_arena_get(&p->arena, n_in + 1, sizeof *ins);
  if (!ins) return xp_oom(b->ep);
  const xp_tensor y = {.type = (uint8_t)type, .place = XP_TEMP, .last = last, .made = p->n_steps, .used = p->n_steps};
  uint32_t tensor;
  XP_TRY(add_tensor(b, &y, &tensor));
  xp_step *s = *out = &p->steps[p->n_steps];
  *s = (xp_step){.kind = kind,
                 .op = b->g.h->node_op(b->g.g, node),
                 .name = b->g.h->node_name(b->g.g, node),
                 .n_in = n_in,
                 .in = ins,
                 .out = tensor,
                 .lo = -INFINITY,
                 .hi = INFINITY};
  for (uint32_t i = 0; i < n_in; i++) {
    xp_tensor *x = &p->tensors[ins[i] = in[i]];
    x->used = p->n_steps;
    if (x->place == XP_INPUT && !kind->run) x->guarded = true;
  }
  if (n_in > p->most_in) p->most_in = n_in;
  *(uint32_t *)form_of(b, value, type, last) = tensor;
  p->n_steps++;
  return NULL;
}

bool xp_is_possible(const xp_step *s, uint32_t type) {
  const xp_tensor x = {.type = (uint8_t)type, .last = true};
  const xp_dims d = {4, {1, 1, 1, 1}};
  const xp_tensor *tensors[] = {&x, &x};
  const xp_dims *dims[] = {&d, &d};
  const xp_call c = {.in_tensor = tensors, .in_dims = dims, .out_dims = &d};
  xnn_operator_t op;
  if (s->kind->lib->create(s, &c, &op) != xnn_status_success) return false;
  xnn_delete_operator(op);
  return true;
}

/* ---- constants ---- */

/* Where a constant comes from: |t| itself, or |t| dequantized with scales and zero points (NULL: 0). */
typedef struct origin {
  const ox_tensor *t, *scale, *zero; /* |scale| NULL: |t| holds floats */
  size_t node;                       /* the DequantizeLinear */
} origin;

static ox_status *find_origin(const xp_build *b, uint32_t value, origin *out) {
  const ox_ep_host *h = b->g.h;
  *out = (origin){.t = h->value_const(b->g.g, value), .node = SIZE_MAX};
  if (out->t) return NULL;
  out->node = xp_dequantizer(&b->g, value);
  out->t = out->node == SIZE_MAX ? NULL : h->value_const(b->g.g, xp_in(&b->g, out->node, 0));
  out->scale = out->t ? h->value_const(b->g.g, xp_in(&b->g, out->node, 1)) : NULL;
  if (!out->scale) return xp_fail(b->ep, OX_FAIL, "xnnpack: '%s' is not constant", h->value_name(b->g.g, value));
  if (xp_in(&b->g, out->node, 2) != UINT32_MAX) out->zero = h->value_const(b->g.g, xp_in(&b->g, out->node, 2));
  return NULL;
}

static int32_t integer_at(const ox_tensor *t, size_t i) {
  int32_t q;
  if (t->dtype == OX_U8) return ((const uint8_t *)t->data)[i];
  if (t->dtype == OX_I8) return ((const int8_t *)t->data)[i];
  memcpy(&q, (const char *)t->data + i * sizeof q, sizeof q);
  return q;
}

static ox_status *dequantize(const xp_build *b, uint32_t value, const origin *o, const xp_dims *dims, float *y) {
  size_t n = xp_elements(dims), n_scales = o->scale->bytes / sizeof(float), inner = 1;
  int axis = (int)xp_attr_int(&b->g, o->node, "axis", 1);
  if (axis < 0) axis += dims->rank;
  bool fits = n_scales == 1 || (axis >= 0 && axis < dims->rank && (size_t)dims->d[axis] == n_scales &&
                                (!o->zero || o->zero->bytes == n_scales * xp_type_bytes(o->t->dtype)));
  for (int d = axis + 1; fits && n_scales > 1 && d < dims->rank; d++) inner *= (size_t)dims->d[d];
  if (!fits)
    return xp_fail(b->ep, OX_INVALID_MODEL, "xnnpack: '%s': scales of another size", b->g.h->value_name(b->g.g, value));
  for (size_t i = 0; i < n; i++) {
    size_t k = n_scales > 1 ? i / inner % n_scales : 0;
    int64_t zero = o->zero ? integer_at(o->zero, k) : 0;
    float by;
    memcpy(&by, (const char *)o->scale->data + k * sizeof by, sizeof by);
    y[i] = (float)(integer_at(o->t, i) - zero) * by;
  }
  return NULL;
}

static void widen(const ox_tensor *t, float *y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, (const char *)t->data + i * sizeof half, sizeof half);
    y[i] = xp_from_half(half);
  }
}

ox_status *xp_floats(xp_build *b, uint32_t value, xp_arena *a, const float **out, xp_dims *out_dims) {
  origin o;
  XP_TRY(find_origin(b, value, &o));
  const ox_tensor *t = o.t;
  *out_dims = (xp_dims){.rank = t->shape.rank};
  if (t->shape.rank > XP_MOST_RANK)
    return xp_fail(b->ep, OX_NOT_IMPLEMENTED, "xnnpack: a constant of rank %d", t->shape.rank);
  for (int d = 0; d < t->shape.rank; d++) out_dims->d[d] = t->shape.dim[d];
  bool aligned = (uintptr_t)t->data % sizeof(float) == 0;
  if (!o.scale && t->dtype == OX_F32 && a == &b->scratch && aligned) { /* nothing to keep */
    *out = t->data;
    return NULL;
  }
  size_t n = xp_elements(out_dims);
  float *y = xp_arena_get(a, n + XNN_EXTRA_BYTES, sizeof *y);
  if (!y) return xp_oom(b->ep);
  *out = y;
  if (o.scale) return dequantize(b, value, &o, out_dims, y);
  if (t->dtype == OX_F16)
    widen(t, y, n);
  else if (n)
    memcpy(y, t->data, n * sizeof *y);
  return NULL;
}

/* Reorders |from| to channels last. */
static void to_last(const xp_dims *d, const char *from, char *to, size_t size) {
  size_t channels = (size_t)d->d[1], batch = (size_t)d->d[0], area = xp_elements(d) / (batch * channels);
  for (size_t n = 0; n < batch; n++)
    for (size_t c = 0; c < channels; c++)
      for (size_t i = 0; i < area; i++)
        memcpy(to + ((n * area + i) * channels + c) * size, from + ((n * channels + c) * area + i) * size, size);
}

ox_status *xp_need_constant(xp_build *b, uint32_t value, int rank, bool last, uint32_t *out) {
  const float *data;
  xp_dims own, d = {.rank = rank};
  XP_TRY(xp_floats(b, value, &b->p->arena, &data, &own));
  for (int i = 0; i < rank; i++) d.d[i] = i < rank - own.rank ? 1 : own.d[i - (rank - own.rank)];
  xp_tensor t = {.type = OX_F32, .place = XP_CONST, .last = last, .dims = d, .data = data};
  if (last && xp_elements(&d)) {
    char *moved = xp_arena_get(&b->p->arena, xp_elements(&d) + XNN_EXTRA_BYTES, sizeof(float));
    if (!moved) return xp_oom(b->ep);
    to_last(&d, (const char *)data, moved, sizeof(float));
    t.data = moved;
  }
  return add_tensor(b, &t, out);
}

/* Adds a constant of bytes, unchanged. */
static ox_status *add_bytes(xp_build *b, uint32_t value, uint32_t *out) {
  const ox_tensor *c = b->g.h->value_const(b->g.g, value);
  xp_tensor t = {.type = (uint8_t)c->dtype, .place = XP_CONST, .dims = {.rank = c->shape.rank}};
  for (int d = 0; d < c->shape.rank; d++) t.dims.d[d] = c->shape.dim[d];
  void *to = xp_arena_get(&b->p->arena, c->bytes + XNN_EXTRA_BYTES, 1);
  if (!to) return xp_oom(b->ep);
  if (c->bytes) memcpy(to, c->data, c->bytes);
  t.data = to;
  return add_tensor(b, &t, out);
}

/* ---- forms ---- */

xp_quant xp_quant_as(xp_quant q, uint32_t own, uint32_t type) {
  if (own != type) q.zero += type == OX_U8 ? 128 : -128;
  return q;
}

bool xp_is_last(const xp_build *b, uint32_t value) {
  const xp_value *v = &b->values[value];
  if (v->from_bytes && v->form[0] == XP_NO_TENSOR && v->form[1] == XP_NO_TENSOR) v = &b->values[v->bytes];
  return v->form[1] != XP_NO_TENSOR || v->form[3] != XP_NO_TENSOR;
}

/* Makes the first form of a value that has none: a constant, or a DequantizeLinear that was deferred. */
static ox_status *first_form(xp_build *b, uint32_t value) {
  xp_value *v = &b->values[value];
  const ox_tensor *c = b->g.h->value_const(b->g.g, value);
  uint32_t type = xp_type(&b->g, value), from;
  xp_step *s;
  if (c && !xp_is_float(&b->g, value)) return add_bytes(b, value, form_of(b, value, type, false));
  if (c || (!v->from_bytes && xp_dequantizer(&b->g, value) != SIZE_MAX))
    return xp_need_constant(b, value, xp_rank(&b->g, value), false, form_of(b, value, OX_F32, false));
  if (!v->from_bytes) return xp_fail(b->ep, OX_FAIL, "xnnpack: nothing makes '%s'", b->g.h->value_name(b->g.g, value));
  bool last = xp_is_last(b, v->bytes);
  XP_TRY(xp_need(b, v->bytes, OX_I8, last, &from));
  XP_TRY(xp_add(b, b->g.h->value_producer(b->g.g, value), &xp_kind_convert, &from, 1, value, OX_F32, last, &s));
  s->q_in[0] = xp_quant_as(b->values[value].quant, xp_type(&b->g, v->bytes), OX_I8);
  return NULL;
}

/* Adds a conversion between float16 and float32. It keeps the layout, so a change of layout is a step of its own, on
 * the float32 side. */
static ox_status *convert(xp_build *b, uint32_t value, uint32_t from, uint32_t type, bool last, uint32_t *out) {
  bool at = b->p->tensors[from].last;
  size_t node = b->g.h->value_producer(b->g.g, value);
  xp_step *s;
  if (type == OX_F16 && at != last) {
    at = last;
    XP_TRY(xp_need(b, value, OX_F32, at, &from));
  }
  XP_TRY(xp_add(b, node == SIZE_MAX ? b->values[value].consumer : node, &xp_kind_half, &from, 1, value, type, at, &s));
  s->which = type == OX_F16;
  return xp_need(b, value, type, last, out);
}

ox_status *xp_need(xp_build *b, uint32_t value, uint32_t type, bool last, uint32_t *out) {
  xp_value *v = &b->values[value];
  last = last && xp_rank(&b->g, value) > 2;
  uint32_t *form = form_of(b, value, type, last), from = XP_NO_TENSOR;
  if ((*out = *form) != XP_NO_TENSOR) return NULL;
  int have = -1;
  for (int i = 0; i < XP_FORMS; i++) /* prefer one of the wanted layout */
    if (v->form[i] != XP_NO_TENSOR && (have < 0 || i % 2 == last)) have = i;
  if (have < 0) {
    XP_TRY(first_form(b, value));
    return xp_need(b, value, type, last, out);
  }
  from = v->form[have];
  const xp_tensor x = b->p->tensors[from];
  if ((x.type == OX_F16) != (type == OX_F16)) return convert(b, value, from, type, last, out);
  size_t node = b->g.h->value_producer(b->g.g, value);
  xp_step *s;
  XP_TRY(xp_add(b, node == SIZE_MAX ? v->consumer : node, &xp_kind_relayout, &from, 1, value, type, last, &s));
  s->axis = last - x.last, s->flags = x.type == type ? 0 : 0x80;
  *out = s->out;
  return NULL;
}

/* ---- tails ---- */

void xp_find_tail(const xp_build *b, size_t node, xp_tail *t) {
  const xp_graph *g = &b->g;
  *t = (xp_tail){.lo = -INFINITY, .hi = INFINITY, .out = xp_out(g, node, 0), .quantized = UINT32_MAX};
  for (size_t next;; t->out = xp_out(g, next, 0)) {
    next = b->values[t->out].consumer;
    if (next == SIZE_MAX || b->done[next] || g->h->value_use_count(g->g, t->out) != 1) return;
    if (xp_in(g, next, 0) != t->out) return;
    uint32_t bytes = xp_out(g, next, 0);
    if (xp_is_op(g, next, "QuantizeLinear")) {
      if (!xp_read_quant(g, xp_in(g, next, 1), xp_in(g, next, 2), xp_type(g, bytes), &t->quant)) return;
      t->quantized = bytes, t->quantizer = next;
      return;
    }
    float lo, hi;
    if (t->n_nodes == XP_MOST_TAIL || (!xp_is_op(g, next, "Relu") && !xp_is_op(g, next, "Clip"))) return;
    if (xp_read_bounds(g, next, &lo, &hi)) return;
    float both_lo = fminf(fmaxf(t->lo, lo), hi), both_hi = fminf(fmaxf(t->hi, lo), hi);
    if (!(both_lo < both_hi)) return;
    t->lo = both_lo, t->hi = both_hi, t->nodes[t->n_nodes++] = next;
  }
}

void xp_take_tail(xp_build *b, const xp_tail *t, bool quantized) {
  for (int i = 0; i < t->n_nodes; i++) b->done[t->nodes[i]] = true;
  if (quantized) b->done[t->quantizer] = true;
}

bool xp_can_requantize(float x, float w, float y) {
  float by = x * w / y;
  return by >= 0x1p-32f && by < 256;
}

static int32_t to_byte(float x, const xp_quant *q, int32_t least, int32_t most) {
  float y = rintf(x / q->scale) + (float)q->zero;
  return y <= (float)least ? least : y >= (float)most ? most : (int32_t)y;
}

bool xp_tail_bytes(const xp_tail *t, const xp_quant *q, bool is_signed, int32_t *lo, int32_t *hi) {
  int32_t least = is_signed ? INT8_MIN : 0, most = is_signed ? INT8_MAX : UINT8_MAX;
  *lo = to_byte(t->lo, q, least, most), *hi = to_byte(t->hi, q, least, most);
  return *lo < *hi;
}
