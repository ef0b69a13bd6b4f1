/* SPDX-License-Identifier: Apache-2.0
 * device/ops/moe.c - com.microsoft's MoE and QMoE: routing, layers on the rows of each expert, a sum per token. */
#include <limits.h>
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/moe_params.h"

enum { X, ROUTER, NO = 99, MIXING = 14, FC1 = 0, FC2, FC3, LAYERS };

/* Positions of a layer's inputs. */
typedef struct slots {
  size_t w, scale, bias, zero;
} slots;
static const slots floats[LAYERS] = {{2, NO, 3, NO}, {4, NO, 5, NO}, {6, NO, 7, NO}};
static const slots integers[LAYERS] = {{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}};
static const char *const acts[] = {"relu", "gelu", "silu", "swiglu", "identity"};

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static bool is_quantized(const dev_node *n) { return strcmp(dev_node_op(n), "QMoE") == 0; }
static const slots *slots_of(const dev_node *n) { return is_quantized(n) ? integers : floats; }
static dev_ref value_of(dev_plan *p, const dev_node *n, size_t i) {
  return dev_value(p, has_in(n, i) ? dev_in(n, i) : UINT32_MAX);
}

static int act_of(const dev_node *n) {
  size_t i = 0;
  while (i < DEV_LENGTH(acts) && !dev_attr_is(n, "activation_type", acts[i], "relu")) i++;
  return (int)i;
}

/* Bits of layer |i|'s weights; 0: floats. */
static int bits_of(const dev_node *n, int i) {
  static const char *const names[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
  if (!is_quantized(n)) return 0;
  int64_t own = dev_attr_int(n, names[i], 0);
  return (int)(own ? own : dev_attr_int(n, "expert_weight_bits", 4));
}

static const char *takes_layer(const dev_node *n, int i) {
  const slots *in = &slots_of(n)[i];
  uint32_t dtype = dev_in_dtype(n, X);
  int bits = bits_of(n, i);
  double values = bits ? 8.0 / bits : 1;
  if (bits != 0 && bits != 2 && bits != 4 && bits != 8)
    return REASON("weights of 2, 4 or 8 bits", "{expert_weight_bits=4}, {inputs}");
  if (dev_in_rank(n, in->w) != 3 || dev_in_dtype(n, in->w) != (bits ? OX_U8 : dtype))
    return REASON("weights of 3 axes, in uint8 or of the input's type", "{inputs}");
  for (int d = 0; d < 3; d++) values *= (double)dev_in_dim(n, in->w, d);
  if (values < 0 || values > INT_MAX) return REASON("weights of known size, at most 2^31 - 1", "{inputs}");
  if ((bits && dev_in_dtype(n, in->scale) != dtype) || (has_in(n, in->bias) && dev_in_dtype(n, in->bias) != dtype))
    return REASON("scales and a bias of the input's type", "{inputs}");
  return bits && has_in(n, in->zero) && dev_in_dtype(n, in->zero) != OX_U8 ? REASON("zero points of uint8", "{inputs}")
                                                                           : NULL;
}

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, X);
  if ((dtype != OX_F32 && dtype != OX_F16) || dev_in_dtype(n, ROUTER) != dtype)
    return REASON("float32 or float16 of one type", "{0}, {1}");
  if (dev_in_rank(n, X) < 2 || dev_in_rank(n, ROUTER) != 2)
    return REASON("2 or more axes, and a router of 2", "{0}, {1}");
  if (dev_attr_int(n, "use_sparse_mixer", 0) || !dev_attr_is(n, "quant_type", "int", "int"))
    return REASON("no sparse mixer, and integers", "{use_sparse_mixer=0}, {quant_type=int}");
  if (act_of(n) == (int)DEV_LENGTH(acts)) return REASON("an activation that its kernels apply", "{activation_type}");
  if (has_in(n, MIXING) && dev_in_dtype(n, MIXING) != dtype)
    return REASON("weights of experts of the input's type", "{inputs}");
  for (size_t i = MIXING + 1; i < dev_in_count(n); i++)
    if (has_in(n, i)) return REASON("the inputs up to the weights of experts", "{inputs}");
  for (int i = 0; i < LAYERS; i++) {
    const char *why = i == FC3 && !has_in(n, slots_of(n)[FC3].w) ? NULL : takes_layer(n, i);
    if (why) return why;
  }
  return NULL;
}

/* ---- launches ---- */

/* Intermediates of the launches. */
typedef struct routes {
  moe_params q;
  dev_ref expert, weight, first, pair, row;
  int64_t rows;
} routes;

static ox_status *emit_routes(dev_plan *p, const dev_node *n, routes *r) {
  size_t ints = (size_t)r->rows * sizeof(int);
  r->expert = dev_temp(p, ints), r->weight = dev_temp(p, ints), r->pair = dev_temp(p, ints), r->row = dev_temp(p, ints);
  r->first = dev_temp(p, (size_t)(r->q.experts + 1) * sizeof(int));
  dev_call route = {.source = "moe",
                    .kernel = "moe_route",
                    .dtype = dev_in_dtype(n, X),
                    .n_buffers = 4,
                    .written = 3u << 2,
                    DEV_PARAMS(r->q),
                    .buffers = {dev_value(p, dev_in(n, ROUTER)), value_of(p, n, MIXING), r->expert, r->weight}};
  const dev_call sort = {.source = "moe",
                         .kernel = "moe_sort",
                         .dtype = dev_in_dtype(n, X),
                         .groups = {1},
                         .items = 256,
                         .n_buffers = 4,
                         .written = 7u << 1,
                         DEV_PARAMS(r->q),
                         .buffers = {r->expert, r->first, r->pair, r->row}};
  DEV_TRY(dev_emit_items(p, &route, r->q.tokens));
  return dev_emit(p, &sort);
}

/* Emits layer |i| with |k| inputs; its size follows from its weights. */
static ox_status *emit_layer(dev_plan *p, const dev_node *n, const routes *r, int i, int64_t k, dev_ref x, dev_ref *y) {
  const slots *in = &slots_of(n)[i];
  const ox_shape *w = dev_shape(p, dev_in(n, in->w));
  int64_t rows = w->dim[1], block = is_quantized(n) ? dev_attr_int(n, "block_size", 0) : 0;
  moe_layer_params q = {.experts = r->q.experts,
                        .top = r->q.top,
                        .n = (int)rows,
                        .k = (int)k,
                        .of_tokens = i != FC2,
                        .has_bias = has_in(n, in->bias),
                        .has_zero = has_in(n, in->zero),
                        .bits = bits_of(n, i),
                        .block = (int)(block ? block : k),
                        .blocks = (int)(block ? dev_groups(k, block) : 1)};
  int64_t scales = r->q.experts * rows * q.blocks;
  if (w->dim[0] != r->q.experts || w->dim[2] != (q.bits ? k * q.bits / 8 : k) || (q.bits && k * q.bits % 8))
    return dev_refuse(p, "weights of an expert that do not fit its inputs");
  if (q.bits && (block < 0 || k % q.block || dev_count(p, dev_in(n, in->scale)) != scales))
    return dev_refuse(p, "scales that do not fit the weights");
  if (q.has_bias && dev_count(p, dev_in(n, in->bias)) != r->q.experts * rows)
    return dev_refuse(p, "a bias that does not fit the weights");
  if (block) q.zero_row = (int)dev_groups((int64_t)q.blocks * q.bits, 8);
  q.zero_e = block ? (int)rows * q.zero_row : (int)dev_groups(rows * q.bits, 8);
  if (q.has_zero && dev_count(p, dev_in(n, in->zero)) != (int64_t)r->q.experts * q.zero_e)
    return dev_refuse(p, "zero points that do not fit the weights");
  if ((double)r->rows * (double)rows > INT_MAX) return dev_refuse(p, "more than 2^31 - 1 elements between the layers");
  int64_t tiles = r->rows / MOE_ROWS + (r->rows < q.experts ? r->rows : q.experts);
  *y = dev_temp(p, (size_t)(r->rows * rows) * sizeof(float));
  const dev_call c = {.source = "moe",
                      .kernel = "moe_layer",
                      .dtype = dev_in_dtype(n, X),
                      .groups = {dev_groups(rows, MOE_COLUMNS), (uint32_t)tiles},
                      .items = 256,
                      .n_buffers = 8,
                      .written = 1u << 7,
                      DEV_PARAMS(q),
                      .buffers = {x, dev_value(p, dev_in(n, in->w)), value_of(p, n, in->scale),
                                  value_of(p, n, in->zero), value_of(p, n, in->bias), r->first, r->pair, *y}};
  return dev_emit(p, &c);
}

static ox_status *emit_act(dev_plan *p, const dev_node *n, const routes *r, dev_ref h, dev_ref third, dev_ref *y) {
  ox_attr_view limit;
  bool has_limit = n->host->node_attr(n->graph, n->index, "swiglu_limit", &limit) != 0;
  const moe_act_params q = {.n = (int)r->rows * r->q.inter,
                            .inter = r->q.inter,
                            .act = act_of(n),
                            .fused = (int)dev_attr_int(n, "swiglu_fusion", 0),
                            .has_third = third.kind != DEV_REF_NONE,
                            .has_limit = has_limit,
                            .alpha = dev_attr_float(n, "activation_alpha", 1),
                            .beta = dev_attr_float(n, "activation_beta", 0),
                            .limit = has_limit ? limit.f : 0};
  *y = dev_temp(p, (size_t)q.n * sizeof(float));
  dev_call c = {.source = "moe",
                .kernel = "moe_activate",
                .dtype = dev_in_dtype(n, X),
                .n_buffers = 3,
                .written = 1u << 2,
                DEV_PARAMS(q),
                .buffers = {h, third, *y}};
  return dev_emit_items(p, &c, q.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const slots *in = slots_of(n);
  const ox_shape *x = dev_shape(p, dev_in(n, X)), *router = dev_shape(p, dev_in(n, ROUTER));
  int64_t tokens = dev_span(x, 0, x->rank - 1), hidden = x->dim[x->rank - 1], top = dev_attr_int(n, "k", 1);
  int64_t n1 = dev_shape(p, dev_in(n, in[FC1].w))->dim[1];
  bool swiglu = act_of(n) == MOE_SWIGLU, fused = swiglu && dev_attr_int(n, "swiglu_fusion", 0) != 0;
  bool third = has_in(n, in[FC3].w);
  routes r = {.rows = tokens * top,
              .q = {.tokens = (int)tokens,
                    .experts = (int)router->dim[1],
                    .top = (int)top,
                    .has_weights = has_in(n, MIXING),
                    .hidden = (int)hidden,
                    .inter = (int)(fused ? n1 / 2 : n1)}};
  dev_ref h, h3 = {DEV_REF_NONE, 0, 0}, act, y;
  if (router->dim[0] != tokens || top < 1 || top > router->dim[1] || (swiglu && !fused && !third))
    return dev_refuse(p, "a router or layers that do not fit");
  if (has_in(n, MIXING) && dev_count(p, dev_in(n, MIXING)) != tokens * router->dim[1])
    return dev_refuse(p, "weights of experts that do not fit the router");
  if (third && dev_shape(p, dev_in(n, in[FC3].w))->dim[1] != r.q.inter) return dev_refuse(p, "layers that do not fit");
  if (dev_shape(p, dev_in(n, in[FC2].w))->dim[1] != hidden) return dev_refuse(p, "layers that do not fit");
  if (dev_count(p, dev_in(n, X)) == 0) return NULL;
  r.q.among = dev_attr_int(n, "normalize_routing_weights", 0) || (is_quantized(n) && !has_in(n, MIXING));
  DEV_TRY(emit_routes(p, n, &r));
  DEV_TRY(emit_layer(p, n, &r, FC1, hidden, dev_value(p, dev_in(n, X)), &h));
  if (third) DEV_TRY(emit_layer(p, n, &r, FC3, hidden, dev_value(p, dev_in(n, X)), &h3));
  DEV_TRY(emit_act(p, n, &r, h, h3, &act));
  DEV_TRY(emit_layer(p, n, &r, FC2, r.q.inter, act, &y));
  dev_call c = {.source = "moe",
                .kernel = "moe_combine",
                .dtype = dev_in_dtype(n, X),
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(r.q),
                .buffers = {y, r.row, r.weight, dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, tokens * hidden);
}

static const char *const names[] = {"MoE", "QMoE", NULL};
DEV_OP(moe) = {"com.microsoft", names, takes, emit};
