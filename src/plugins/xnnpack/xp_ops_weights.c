/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_weights.c - Conv, QLinearConv, ConvTranspose, MatMul, QLinearMatMul, Gemm. */
#include "xp_ops_weights.h"

#include <math.h>
#include <string.h>

#include "xp_library.h"

enum { MOST_CHANNELS = 1 << 30, MOST_DEPTHWISE = 25 };

/* ---- convolutions ---- */

/* Checks shapes and attributes; |x_at| and |w_at| are the positions of input and weights among the node's inputs. */
static const char *check_conv_like(const xp_graph *g, size_t node, size_t x_at, size_t w_at, bool transposed,
                                   xp_window *window) {
  xp_dims w;
  int rank = xp_rank(g, xp_in(g, node, x_at));
  int64_t group = xp_attr_int(g, node, "group", 1), area = 1;
  xp_shape(g, xp_in(g, node, w_at), &w);
  if (rank < 0) return REASON("a known rank", "{0}");
  if (rank != 3 && rank != 4) return REASON("3 or 4 axes", "{0}");
  if (w.rank != rank) return REASON("weights of the input's rank", "{inputs}");
  for (int d = 0; d < w.rank; d++)
    if (w.d[d] < 1 || w.d[d] > MOST_CHANNELS)
      return REASON("weights with from 1 to 2^30 elements along each axis", "{inputs}");
  if (group < 1 || w.d[0] % group || (double)group * (double)w.d[1] > MOST_CHANNELS)
    return REASON("a group that divides the channels", "{group=1}, {inputs}");
  for (int d = 2; d < rank; d++) area *= w.d[d];
  if (w.d[1] == 1 && group > 1 && area > MOST_DEPTHWISE)
    return REASON("depthwise windows of at most 25 elements", "{inputs}");
  return xp_read_window(g, node, w.d + 2, rank - 2, transposed, window);
}

static bool is_bias(const xp_graph *g, uint32_t b) { return b == UINT32_MAX || xp_is_weights(g, b); }

static const char *check_floats(const xp_graph *g, size_t node) {
  if (!xp_is_float(g, xp_in(g, node, 0))) return XP_NO_FLOAT;
  if (!xp_is_weights(g, xp_in(g, node, 1))) return REASON("constant weights", "{1}");
  return is_bias(g, xp_in(g, node, 2)) ? NULL : REASON("a constant bias", "{2}");
}

static const char *check_conv(const xp_graph *g, size_t node) {
  xp_window w;
  const char *why = check_floats(g, node);
  return why ? why : check_conv_like(g, node, 0, 1, false, &w);
}

static const char *check_deconv(const xp_graph *g, size_t node) {
  xp_window w;
  size_t n;
  const char *why = check_floats(g, node);
  if (!why) why = check_conv_like(g, node, 0, 1, true, &w);
  if (why) return why;
  if (xp_attr_ints(g, node, "output_shape", &n))
    return REASON("an output whose size follows from the pads", "{output_shape}");
  for (int i = 0; i < 2; i++)
    if (w.extra[i] >= w.stride[i]) return REASON("an output_padding below the stride", "{output_padding}, {strides}");
  bool padded = w.top || w.left || w.bottom || w.right;
  if (padded && (w.stride[0] > 2 || w.stride[1] > 2))
    return REASON("no pads with strides above 2 (the library reads elsewhere then)", "{strides}, {pads}");
  return NULL;
}

/* Is it a 1x1 convolution, that is, a product of the pixels x channels matrix with the weights? */
static bool is_pointwise(const xp_recipe *r) {
  const xp_window *w = &r->window;
  bool padded = w->top || w->left || w->bottom || w->right;
  return r->groups == 1 && w->size[0] * w->size[1] == 1 && w->stride[0] * w->stride[1] == 1 && !padded;
}

static void read_job(const xp_build *b, size_t node, size_t w_at, bool transposed, xp_job *j) {
  const xp_graph *g = &b->g;
  xp_dims w;
  memset(j, 0, sizeof *j); /* the recipe's bytes are digested */
  xp_shape(g, xp_in(g, node, w_at), &w);
  uint32_t group = (uint32_t)xp_attr_int(g, node, "group", 1);
  xp_recipe *r = &j->recipe;
  j->node = node, j->kind = transposed ? &xp_kind_deconv : &xp_kind_conv, j->last = true;
  j->outer = w.d[0], j->inner = w.d[1], j->area = 1;
  for (int d = 2; d < w.rank; d++) j->area *= w.d[d];
  r->op = transposed ? XP_DECONV : XP_CONV, r->groups = group;
  r->channels_in = (uint32_t)(transposed ? w.d[0] / group : w.d[1]);
  r->channels_out = (uint32_t)(transposed ? w.d[1] : w.d[0] / group);
  (void)xp_read_window(g, node, w.d + 2, w.rank - 2, transposed, &r->window); /* as the check did */
  if (xp_lib_pointwise && !transposed && is_pointwise(r))
    r->op = XP_LINEAR, j->kind = &xp_kind_pointwise;
  else if (r->window.same)
    r->flags |= XNN_FLAG_TENSORFLOW_SAME_PADDING;
}

/* Builds the step in bytes if possible, else in floats. */
static ox_status *build(xp_build *b, xp_job *j) {
  xp_bytes_job q;
  bool taken = false;
  if (xp_as_bytes(b, j, &q)) XP_TRY(xp_build_bytes(b, j, &q, &taken));
  if (!taken) XP_TRY(xp_build_floats(b, j));
  xp_take_tail(b, &j->tail, taken);
  return NULL;
}

static ox_status *emit_conv_like(xp_build *b, size_t node, bool transposed) {
  xp_job j;
  read_job(b, node, 1, transposed, &j);
  j.x = xp_in(&b->g, node, 0), j.w = xp_in(&b->g, node, 1), j.b = xp_in(&b->g, node, 2);
  xp_find_tail(b, node, &j.tail);
  return build(b, &j);
}
static ox_status *emit_conv(xp_build *b, size_t node) { return emit_conv_like(b, node, false); }
static ox_status *emit_deconv(xp_build *b, size_t node) { return emit_conv_like(b, node, true); }

/* ---- QLinearConv, QLinearMatMul ---- */

static bool is_constant(const xp_graph *g, uint32_t v) { return v != UINT32_MAX && g->h->value_const(g->g, v); }

/* Checks everything but shapes and attributes. Both operators have their inputs at the same positions. */
static const char *check_qlinear(const xp_graph *g, size_t node) {
  xp_quant x, y;
  uint32_t w = xp_in(g, node, 3), type = xp_type(g, w);
  uint32_t x_type = xp_type(g, xp_in(g, node, 0)), y_type = xp_type(g, xp_out(g, node, 0));
  if (!xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), x_type, &x) ||
      !xp_read_quant(g, xp_in(g, node, 6), xp_in(g, node, 7), y_type, &y))
    return REASON("one constant scale and zero point of the input, and of the output", "{inputs}");
  for (size_t i = 3; i < 6; i++)
    if (!is_constant(g, xp_in(g, node, i)))
      return REASON("constant weights with constant scales and zero points", "{3}, {4}, {5}");
  if (xp_in(g, node, 8) != UINT32_MAX && !is_constant(g, xp_in(g, node, 8))) return REASON("a constant bias", "{8}");
  const ox_tensor *s = g->h->value_const(g->g, xp_in(g, node, 4)), *z = g->h->value_const(g->g, xp_in(g, node, 5));
  if ((type != OX_U8 && type != OX_I8) || s->dtype != OX_F32 || z->dtype != type)
    return REASON("weights of uint8 or int8 with scales of float32", "{3}, {4}, {5}");
  int32_t none = type == OX_U8 ? 128 : 0;
  for (size_t i = 0; i < z->bytes; i++)
    if (s->bytes > sizeof(float) &&
        (type == OX_U8 ? ((const uint8_t *)z->data)[i] : ((const int8_t *)z->data)[i]) != none)
      return REASON("no zero points beside scales of channels", "{4}, {5}");
  for (size_t i = 0; i < s->bytes / sizeof(float); i++) {
    float scale;
    memcpy(&scale, (const char *)s->data + i * sizeof scale, sizeof scale);
    if (!(scale > 0) || !isnormal(scale) || !xp_can_requantize(x.scale, scale, y.scale))
      return REASON("scales of weights whose products with the input's the library computes with", "{1}, {4}, {6}");
  }
  return NULL;
}

static const char *check_qconv(const xp_graph *g, size_t node) {
  xp_window window;
  const char *why = check_qlinear(g, node);
  return why ? why : check_conv_like(g, node, 0, 3, false, &window);
}

static ox_status *emit_qlinear(xp_build *b, size_t node, xp_job *j) {
  const xp_graph *g = &b->g;
  bool taken;
  j->tail = (xp_tail){.lo = -INFINITY, .hi = INFINITY};
  xp_bytes_job q = {.x = xp_in(g, node, 0),
                    .y = xp_out(g, node, 0),
                    .w = xp_in(g, node, 3),
                    .w_scale = xp_in(g, node, 4),
                    .w_zero = xp_in(g, node, 5),
                    .bias = xp_in(g, node, 8)};
  (void)xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), xp_type(g, q.x), &q.x_quant);
  (void)xp_read_quant(g, xp_in(g, node, 6), xp_in(g, node, 7), xp_type(g, q.y), &q.y_quant);
  XP_TRY(xp_build_bytes(b, j, &q, &taken));
  if (taken) return NULL;
  return xp_fail(b->ep, OX_NOT_IMPLEMENTED, "xnnpack: %s '%s': the library refuses its numbers",
                 g->h->node_op(g->g, node), g->h->node_name(g->g, node));
}

static ox_status *emit_qconv(xp_build *b, size_t node) {
  xp_job j;
  read_job(b, node, 3, false, &j);
  return emit_qlinear(b, node, &j);
}

/* ---- products ---- */

/* |w| is a matrix of |k| x |n|, stored transposed if |turned|. */
static void linear_job(const xp_build *b, size_t node, uint32_t w, int64_t k, int64_t n, bool turned, xp_job *j) {
  memset(j, 0, sizeof *j);
  j->node = node, j->kind = &xp_kind_linear, j->x = xp_in(&b->g, node, 0), j->w = w;
  j->outer = turned ? n : k, j->inner = turned ? k : n, j->area = 1;
  xp_recipe *r = &j->recipe;
  r->op = XP_LINEAR, r->groups = 1, r->channels_in = (uint32_t)k, r->channels_out = (uint32_t)n;
  r->flags = turned ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS;
  j->drop_columns = xp_rank(&b->g, w) == 1;
}

static ox_status *emit_linear(xp_build *b, size_t node, uint32_t w, uint32_t bias, int64_t k, int64_t n, bool turned,
                              const xp_tail *tail) {
  xp_job j;
  linear_job(b, node, w, k, n, turned, &j);
  j.b = bias, j.tail = *tail;
  return build(b, &j);
}

static const char *check_matrix(const xp_dims *w) {
  for (int d = 0; d < w->rank; d++)
    if (w->d[d] < 1 || w->d[d] > MOST_CHANNELS)
      return REASON("a matrix with from 1 to 2^30 rows and columns", "{inputs}");
  return NULL;
}

/* Is it a product of two non-constant matrices? */
static bool is_product(const xp_graph *g, size_t node) {
  uint32_t a = xp_in(g, node, 0), b = xp_in(g, node, 1);
  return !xp_is_weights(g, b) && xp_is_float(g, a) && xp_is_float(g, b) && xp_rank(g, a) >= 2 && xp_rank(g, b) >= 2;
}

/* The output of the Transpose |node| with its last two axes swapped: often its input. */
static ox_status *need_turned(xp_build *b, size_t node, uint32_t *out) {
  const xp_graph *g = &b->g;
  uint32_t x = xp_in(g, node, 0), in;
  int rank = xp_rank(g, x);
  int64_t order[XP_MOST_RANK] = {1, 0};
  size_t n;
  const int64_t *perm = xp_attr_ints(g, node, "perm", &n);
  bool same = true;
  xp_step *s;
  if (perm) memcpy(order, perm, n * sizeof *perm);
  order[rank - 1] = order[rank - 2], order[rank - 2] = perm ? perm[rank - 1] : 0;
  for (int d = 0; d < rank; d++) same = same && order[d] == d;
  if (same) return xp_need(b, x, OX_F32, false, out);
  XP_TRY(xp_need(b, x, OX_F32, xp_is_last(b, x), &in));
  XP_TRY(xp_add(b, node, &xp_kind_transpose, &in, 1, xp_out(g, node, 0), OX_F32, false, &s));
  memcpy(s->sizes, order, sizeof order);
  *out = s->out;
  return NULL;
}

static ox_status *emit_product(xp_build *b, size_t node) {
  size_t turner = xp_turner(&b->g, node);
  uint32_t in[2];
  xp_step *s;
  XP_TRY(xp_need(b, xp_in(&b->g, node, 0), OX_F32, false, &in[0]));
  XP_TRY(turner == SIZE_MAX ? xp_need(b, xp_in(&b->g, node, 1), OX_F32, false, &in[1])
                            : need_turned(b, turner, &in[1]));
  XP_TRY(xp_add(b, node, &xp_kind_product, in, 2, xp_out(&b->g, node, 0), OX_F32, false, &s));
  s->flags = turner != SIZE_MAX;
  return NULL;
}

static const char *check_matmul(const xp_graph *g, size_t node) {
  xp_dims w;
  if (is_product(g, node)) return NULL;
  const char *why = check_floats(g, node);
  xp_shape(g, xp_in(g, node, 1), &w);
  if (why) return why;
  if (xp_rank(g, xp_in(g, node, 0)) < 1) return REASON("a left factor of 1 to 6 axes", "{0}");
  if (w.rank != 1 && w.rank != 2) return REASON("one constant matrix on the right", "{1}");
  return check_matrix(&w);
}

/* Finds an Add of a constant row to the product, which can serve as its bias. Returns that node, or SIZE_MAX. */
static size_t find_bias(const xp_build *b, size_t node, int64_t n, uint32_t *out_bias) {
  const xp_graph *g = &b->g;
  uint32_t y = xp_out(g, node, 0);
  size_t add = b->values[y].consumer;
  *out_bias = UINT32_MAX;
  if (!xp_is_op(g, add, "Add") || b->done[add] || g->h->value_use_count(g->g, y) != 1) return SIZE_MAX;
  uint32_t other = xp_in(g, add, xp_in(g, add, 0) == y);
  xp_dims d;
  xp_shape(g, other, &d);
  if (!xp_is_float(g, other) || !g->h->value_const(g->g, other)) return SIZE_MAX;
  if (d.rank < 1 || d.rank > xp_rank(g, y) || d.d[d.rank - 1] != n) return SIZE_MAX;
  for (int i = 0; i + 1 < d.rank; i++)
    if (d.d[i] != 1) return SIZE_MAX;
  *out_bias = other;
  return add;
}

/* The constant matrix that the right factor is the transpose of (a large one is not folded); UINT32_MAX: none. */
static uint32_t turned_matrix(const xp_graph *g, size_t node) {
  size_t turner = xp_turner(g, node);
  uint32_t x = turner == SIZE_MAX ? UINT32_MAX : xp_in(g, turner, 0);
  xp_dims w;
  xp_shape(g, x, &w);
  return w.rank == 2 && xp_is_weights(g, x) && g->h->value_const(g->g, x) && !check_matrix(&w) ? x : UINT32_MAX;
}

static ox_status *emit_matmul(xp_build *b, size_t node) {
  xp_dims w;
  uint32_t matrix = turned_matrix(&b->g, node);
  bool turned = matrix != UINT32_MAX;
  if (!turned && is_product(&b->g, node)) return emit_product(b, node);
  if (!turned) matrix = xp_in(&b->g, node, 1);
  xp_shape(&b->g, matrix, &w);
  int64_t k = w.d[turned], n = w.rank == 2 ? w.d[!turned] : 1;
  uint32_t bias = UINT32_MAX;
  xp_tail tail;
  size_t add = w.rank == 2 ? find_bias(b, node, n, &bias) : SIZE_MAX;
  xp_find_tail(b, add == SIZE_MAX ? node : add, &tail);
  XP_TRY(emit_linear(b, node, matrix, bias, k, n, turned, &tail));
  if (add != SIZE_MAX) b->done[add] = true;
  return NULL;
}

static const char *check_qmatmul(const xp_graph *g, size_t node) {
  xp_dims w;
  const char *why = check_qlinear(g, node);
  if (why) return why;
  xp_shape(g, xp_in(g, node, 3), &w);
  if (xp_rank(g, xp_in(g, node, 0)) < 1) return REASON("a left factor of 1 to 6 axes", "{0}");
  if (w.rank != 2) return REASON("one constant matrix on the right", "{3}");
  if (g->h->value_const(g->g, xp_in(g, node, 4))->bytes != sizeof(float))
    return REASON("one scale for the whole matrix", "{4}");
  return check_matrix(&w);
}

static ox_status *emit_qmatmul(xp_build *b, size_t node) {
  xp_dims w;
  xp_job j;
  xp_shape(&b->g, xp_in(&b->g, node, 3), &w);
  linear_job(b, node, xp_in(&b->g, node, 3), w.d[0], w.d[1], false, &j);
  return emit_qlinear(b, node, &j);
}

static const char *check_gemm(const xp_graph *g, size_t node) {
  xp_dims w, c;
  const char *why = check_floats(g, node);
  xp_shape(g, xp_in(g, node, 1), &w);
  if (why) return why;
  if (xp_attr_float(g, node, "alpha", 1) != 1 || xp_attr_float(g, node, "beta", 1) != 1)
    return REASON("an alpha and a beta of 1", "{alpha=1}, {beta=1}");
  if (xp_attr_int(g, node, "transA", 0)) return REASON("a left factor that is not transposed", "{transA}");
  if (xp_rank(g, xp_in(g, node, 0)) != 2 || w.rank != 2) return REASON("matrices", "{0}, {1}");
  int64_t n = w.d[xp_attr_int(g, node, "transB", 0) ? 0 : 1];
  if (xp_in(g, node, 2) == UINT32_MAX) return check_matrix(&w);
  xp_shape(g, xp_in(g, node, 2), &c);
  if (c.rank < 1 || c.d[c.rank - 1] != n || (c.rank == 2 && c.d[0] != 1)) return REASON("a C that is one row", "{2}");
  return check_matrix(&w);
}

static ox_status *emit_gemm(xp_build *b, size_t node) {
  xp_dims w;
  xp_tail tail;
  bool turned = xp_attr_int(&b->g, node, "transB", 0) != 0;
  xp_shape(&b->g, xp_in(&b->g, node, 1), &w);
  xp_find_tail(b, node, &tail);
  return emit_linear(b, node, xp_in(&b->g, node, 1), xp_in(&b->g, node, 2), w.d[turned], w.d[!turned], turned, &tail);
}

const xp_operator xp_ops_weights[] = {{"Conv", check_conv, emit_conv},
                                      {"ConvTranspose", check_deconv, emit_deconv},
                                      {"QLinearConv", check_qconv, emit_qconv},
                                      {"MatMul", check_matmul, emit_matmul},
                                      {"Gemm", check_gemm, emit_gemm},
                                      {"QLinearMatMul", check_qmatmul, emit_qmatmul},
                                      {NULL, NULL, NULL}};
