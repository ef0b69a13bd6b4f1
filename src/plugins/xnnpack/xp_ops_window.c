/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_window.c - MaxPool, AveragePool, GlobalAveragePool, Resize. */
#include <math.h>
#include <string.h>

#include "xp_bytes.h"
#include "xp_library.h"

/* ---- pools ---- */

const char *xp_check_pool(const xp_graph *g, size_t node, xp_window *w) {
  if (xp_rank(g, xp_in(g, node, 0)) != 4) return REASON("4 axes", "{0}");
  if (xp_attr_int(g, node, "ceil_mode", 0)) return REASON("an output size that is rounded down", "{ceil_mode}");
  const char *why = xp_read_window(g, node, NULL, 2, false, w);
  if (why) return why;
  if (w->size[0] * (uint64_t)w->size[1] == 1) return REASON("a window of more than one pixel", "{kernel_shape}");
  for (int i = 0; i < 2; i++) {
    uint32_t size = i ? w->left > w->right ? w->left : w->right : w->top > w->bottom ? w->top : w->bottom;
    if (size > (uint64_t)w->dilation[i] * (w->size[i] - 1))
      return REASON("pads smaller than the window", "{pads}, {kernel_shape}, {dilations}");
    if (w->same && w->dilation[i] != 1) return REASON("auto_pad without dilations", "{auto_pad}, {dilations}");
    bool padded = w->top || w->left || w->bottom || w->right;
    if (padded && w->dilation[i] != 1)
      return REASON("no pads with dilations (the library's results are wrong then)", "{pads}, {dilations}");
  }
  return NULL;
}

static const char *check_max_pool(const xp_graph *g, size_t node) {
  xp_window w;
  if (!xp_inner_type(g, xp_in(g, node, 0)))
    return REASON("float32, uint8 or int8, or float16 on a CPU that converts it", "{0}");
  if (xp_out(g, node, 1) != UINT32_MAX) return REASON("no indices", "{>1}");
  return xp_check_pool(g, node, &w);
}

static ox_status *emit_max_pool(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  uint32_t x = xp_in(g, node, 0), type = xp_inner_type(g, x), in; /* unsigned bytes keep their order as signed ones */
  xp_tail tail = {.lo = -INFINITY, .hi = INFINITY, .out = xp_out(g, node, 0)};
  xp_window w;
  xp_step *s;
  (void)xp_check_pool(g, node, &w);
  if (type == OX_F32) xp_find_tail(b, node, &tail);
  xp_bytes bytes;
  if (xp_bytes_between(b, node, 1, &tail, &bytes) && xp_bytes_alike(g, &bytes)) { /* the largest byte */
    xp_step made = {.kind = &xp_kind_max_pool, .window = w, .flags = w.same ? XNN_FLAG_TENSORFLOW_SAME_PADDING : 0};
    if (xp_bytes_fit(g, &bytes, &tail, OX_I8, &made)) {
      xp_take_tail(b, &tail, true);
      return xp_bytes_add(b, node, &bytes, OX_I8, true, &made);
    }
  }
  XP_TRY(xp_need(b, x, type, true, &in));
  XP_TRY(xp_add(b, node, &xp_kind_max_pool, &in, 1, tail.out, type, true, &s));
  s->window = w, s->lo = tail.lo, s->hi = tail.hi, s->q_lo = INT8_MIN, s->q_hi = INT8_MAX;
  s->flags = w.same ? XNN_FLAG_TENSORFLOW_SAME_PADDING : 0;
  xp_take_tail(b, &tail, false);
  return NULL;
}

static int64_t steps(int64_t pads, int64_t stride) { return (pads + stride - 1) / stride; }

/* Do some output rows reach into the top and the bottom pads at once? Assumed if the height is not known. */
static bool overhangs(const xp_graph *g, size_t node, const xp_window *w) {
  int64_t stride = w->stride[0], size = w->size[0], pads = (int64_t)w->top + w->bottom, top = w->top;
  xp_dims x;
  xp_shape(g, xp_in(g, node, 0), &x);
  int64_t height = x.d[2], rows = w->same ? steps(height, stride) : (height + pads - size) / stride + 1;
  if (w->same) pads = height < 0 ? size - 1 : (rows - 1) * stride + size - height;
  if (w->same) pads = pads > 0 ? pads : 0, top = pads / 2;
  int64_t first = steps(top, stride), last = steps(pads - top, stride);
  return stride > 1 && first > 0 && last > 1 && (height < 0 || rows < first + last);
}

static const char *check_average_pool(const xp_graph *g, size_t node) {
  xp_window w;
  const char *why = xp_check_pool(g, node, &w);
  if (why) return why;
  if (!xp_is_float(g, xp_in(g, node, 0))) return XP_NO_FLOAT;
  if (w.dilation[0] != 1 || w.dilation[1] != 1) return REASON("no dilations", "{dilations}");
  if (!xp_lib_averages_few_rows && overhangs(g, node, &w))
    return REASON("output rows of which none reaches both the top and the bottom pads (the library is wrong then)",
                  "{pads}, {auto_pad=NOTSET}, {strides}, {0}");
  bool padded = w.same || w.top || w.left || w.bottom || w.right;
  return padded && xp_attr_int(g, node, "count_include_pad", 0)
             ? REASON("pads that do not count", "{count_include_pad}")
             : NULL;
}

bool xp_averages_bytes(const xp_window *w) {
  bool padded = w->same || w->top || w->left || w->bottom || w->right;
  return !padded && w->dilation[0] == 1 && w->dilation[1] == 1;
}

static ox_status *emit_average_pool(xp_build *b, size_t node) {
  uint32_t in;
  xp_tail tail;
  xp_window w;
  xp_bytes bytes;
  xp_step *s, made = {.kind = &xp_kind_average_pool};
  (void)xp_check_pool(&b->g, node, &w);
  xp_find_tail(b, node, &tail);
  made.window = w;
  if (xp_averages_bytes(&w) && xp_bytes_between(b, node, 1, &tail, &bytes) &&
      xp_bytes_fit(&b->g, &bytes, &tail, OX_U8, &made)) {
    xp_take_tail(b, &tail, true);
    return xp_bytes_add(b, node, &bytes, OX_U8, true, &made);
  }
  XP_TRY(xp_need(b, xp_in(&b->g, node, 0), OX_F32, true, &in));
  XP_TRY(xp_add(b, node, &xp_kind_average_pool, &in, 1, tail.out, OX_F32, true, &s));
  s->window = w, s->lo = tail.lo, s->hi = tail.hi, s->flags = w.same ? XNN_FLAG_TENSORFLOW_SAME_PADDING : 0;
  xp_take_tail(b, &tail, false);
  return NULL;
}

/* Can a mean of bytes lie exactly halfway between two bytes of the output? */
static bool has_ties(const xp_graph *g, size_t node) {
  size_t from = xp_dequantizer(g, xp_in(g, node, 0));
  xp_dims x;
  xp_quant a, b;
  xp_shape(g, xp_in(g, node, 0), &x);
  bool odd = x.rank > 2;
  for (int d = 2; d < x.rank; d++) odd = odd && x.d[d] > 0 && x.d[d] % 2;
  if (from == SIZE_MAX || odd) return false;
  if (!xp_read_quant(g, xp_in(g, from, 1), xp_in(g, from, 2), xp_type(g, xp_in(g, from, 0)), &a)) return false;
  for (size_t i = 0; i < g->h->node_count(g->g); i++)
    if (xp_in(g, i, 0) == xp_out(g, node, 0) && xp_is_op(g, i, "QuantizeLinear"))
      return xp_read_quant(g, xp_in(g, i, 1), xp_in(g, i, 2), xp_type(g, xp_out(g, i, 0)), &b) && a.scale == b.scale;
  return false;
}

static const char *check_global(const xp_graph *g, size_t node) {
  int rank = xp_rank(g, xp_in(g, node, 0));
  if (!xp_is_float(g, xp_in(g, node, 0))) return XP_NO_FLOAT;
  if (has_ties(g, node)) return XP_TIES;
  return rank == 3 || rank == 4 ? NULL : REASON("3 or 4 axes", "{0}");
}

static ox_status *emit_global(xp_build *b, size_t node) {
  xp_tail tail;
  xp_bytes x;
  xp_step *s, made = {.kind = &xp_kind_global_average_pool};
  uint32_t in;
  xp_find_tail(b, node, &tail);
  bool bytes = xp_bytes_between(b, node, 1, &tail, &x) && xp_bytes_fit(&b->g, &x, &tail, OX_I8, &made);
  if (bytes) {
    XP_TRY(xp_bytes_add(b, node, &x, OX_I8, true, &made));
  } else {
    if (!xp_lib_bounds) tail = (xp_tail){.lo = -INFINITY, .hi = INFINITY, .out = xp_out(&b->g, node, 0)};
    XP_TRY(xp_need(b, xp_in(&b->g, node, 0), OX_F32, true, &in));
    XP_TRY(xp_add(b, node, &xp_kind_global_average_pool, &in, 1, tail.out, OX_F32, true, &s));
    s->lo = tail.lo, s->hi = tail.hi;
  }
  xp_take_tail(b, &tail, bytes);
  return NULL;
}

/* ---- Resize ---- */

typedef struct resize {
  int64_t size[2]; /* 0: |scale| */
  float scale[2];
  uint32_t flags;
} resize;

static bool read_scales(const xp_graph *g, uint32_t value, float out[4]) {
  const ox_tensor *t = value == UINT32_MAX ? NULL : g->h->value_const(g->g, value);
  if (!t || t->dtype != OX_F32 || t->bytes != 4 * sizeof *out) return false;
  memcpy(out, t->data, t->bytes);
  return true;
}

/* The library knows sizes alone: their quotient has to be the scale for every size that may come. */
static bool is_exact(const xp_dims *x, int i, float scale) {
  double n = (double)x->d[2 + i], y = n * (double)scale, up = 1 / (double)scale;
  if (x->d[2 + i] > 0) return y == floor(y) && y >= 1 && (scale >= 1 || up == floor(up));
  return scale >= 1 && scale == floorf(scale);
}

static const char *read_resize(const xp_graph *g, size_t node, resize *r) {
  xp_dims x, y;
  float scales[4];
  int64_t sizes[4];
  bool old = g->h->node_version(g->g, node) < 11;
  size_t n;
  xp_shape(g, xp_in(g, node, 0), &x), xp_shape(g, xp_out(g, node, 0), &y);
  *r = (resize){.flags = 0};
  if (!xp_inner_type(g, xp_in(g, node, 0)))
    return REASON("float32, uint8 or int8, or float16 on a CPU that converts it", "{0}");
  if (!xp_attr_is(g, node, "mode", "linear", "nearest")) return REASON("linear interpolation", "{mode=nearest}");
  if (x.rank != 4) return REASON("4 axes", "{0}");
  if (xp_attr_ints(g, node, "axes", &n) || xp_attr_int(g, node, "antialias", 0))
    return REASON("all axes, and no antialias", "{axes}, {antialias=0}");
  if (xp_attr_int(g, node, "exclude_outside", 0))
    return REASON("neighbours outside of the image that count", "{exclude_outside}");
  if (!xp_attr_is(g, node, "keep_aspect_ratio_policy", "stretch", "stretch"))
    return REASON("the policy stretch", "{keep_aspect_ratio_policy}");
  const char *half = old ? "asymmetric" : "half_pixel", *name = "coordinate_transformation_mode";
  bool torch = xp_attr_is(g, node, name, "pytorch_half_pixel", half);
  if (torch && !(y.rank == 4 && y.d[2] > 1 && y.d[3] > 1))
    return REASON("an image known to be of more than one pixel each way with pytorch_half_pixel", "{>0}");
  if (xp_attr_is(g, node, name, "align_corners", half))
    r->flags = XNN_FLAG_ALIGN_CORNERS;
  else if (xp_attr_is(g, node, name, "asymmetric", half))
    r->flags = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  else if (!torch && !xp_attr_is(g, node, name, "half_pixel", half))
    return REASON("half_pixel, asymmetric, align_corners or pytorch_half_pixel", "{coordinate_transformation_mode}");
  if (!old && xp_const_ints(g, xp_in(g, node, 3), sizes, 4) == 4) {
    if (sizes[1] != x.d[1] || (x.d[0] >= 0 && sizes[0] != x.d[0]))
      return REASON("batch and channels of the same size", "{0}, {3}");
    for (int i = 0; i < 2; i++) {
      if (sizes[2 + i] < 1 || sizes[2 + i] > INT32_MAX) return REASON("sizes from 1 to 2^31 - 1", "{3}");
      if (sizes[2 + i] < x.d[2 + i] || x.d[2 + i] < 1)
        return REASON("an image of known size that does not become smaller", "{0}, {3}");
      r->size[i] = sizes[2 + i];
    }
    return x.d[0] < 0 ? REASON("a known batch beside sizes", "{0}") : NULL;
  }
  if (!read_scales(g, xp_in(g, node, old ? 1 : 2), scales)) return REASON("constant scales or sizes", "{inputs}");
  if (scales[0] != 1 || scales[1] != 1) return REASON("batch and channels of the same size", "{inputs}");
  for (int i = 0; i < 2; i++) {
    r->scale[i] = scales[2 + i];
    if (!(r->scale[i] > 0) || r->scale[i] > 1024 || !is_exact(&x, i, r->scale[i]))
      return REASON("scales that give a whole number of pixels for every size that may come", "{inputs}");
  }
  return NULL;
}

static const char *check_resize(const xp_graph *g, size_t node) {
  resize r;
  return read_resize(g, node, &r);
}

static ox_status *emit_resize(xp_build *b, size_t node) {
  uint32_t x = xp_in(&b->g, node, 0), in, type = xp_type(&b->g, x) == OX_U8 ? OX_U8 : xp_inner_type(&b->g, x);
  resize r;
  xp_step *s;
  (void)read_resize(&b->g, node, &r);
  float *scales = xp_arena_get(&b->p->arena, 2, sizeof *scales);
  if (!scales) return xp_oom(b->ep);
  memcpy(scales, r.scale, sizeof r.scale);
  XP_TRY(xp_need(b, x, type, true, &in));
  XP_TRY(xp_add(b, node, &xp_kind_resize, &in, 1, xp_out(&b->g, node, 0), type, true, &s));
  s->sizes[0] = r.size[0], s->sizes[1] = r.size[1], s->numbers = scales, s->flags = r.flags;
  return NULL;
}

const xp_operator xp_ops_window[] = {{"MaxPool", check_max_pool, emit_max_pool},
                                     {"AveragePool", check_average_pool, emit_average_pool},
                                     {"GlobalAveragePool", check_global, emit_global},
                                     {"Resize", check_resize, emit_resize},
                                     {NULL, NULL, NULL}};
