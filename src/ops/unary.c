/* SPDX-License-Identifier: Apache-2.0
 * ops/unary.c - element-wise operators of one input that are a function from kern/unary: one row each. */
#include <string.h>

#include "graph/node_activation.h"
#include "graph/tape.h"
#include "kern/quant/convert.h"
#include "kern/unary/unary.h"
#include "ops/shared/tiles.h"

/* Attributes land in the kernel's parameters. */
typedef struct {
  float p[OX_UNARY_PARAMS];
  const char *approximate;
} unary_attrs;

#define PARAM(k, attr, dflt)                                                                                    \
  {                                                                                                             \
    .name = attr, .kind = OX_ATTR_FLOAT_KIND, .offset = offsetof(unary_attrs, p[k]), .has_offset = OX_NO_FIELD, \
    .f = dflt                                                                                                   \
  }
static const ox_attr_def leaky_relu_attrs[] = {PARAM(0, "alpha", 0.01f)};
static const ox_attr_def alpha_attrs[] = {PARAM(0, "alpha", 1.0f)};
static const ox_attr_def selu1_attrs[] = {PARAM(0, "alpha", 1.6732f), PARAM(1, "gamma", 1.0507f)};
static const ox_attr_def selu_attrs[] = {PARAM(0, "alpha", 1.67326319217681884765625f),
                                         PARAM(1, "gamma", 1.05070102214813232421875f)};
static const ox_attr_def hard_sigmoid_attrs[] = {PARAM(0, "alpha", 0.2f), PARAM(1, "beta", 0.5f)};
static const ox_attr_def affine_attrs[] = {PARAM(0, "alpha", 1.0f), PARAM(1, "beta", 0.0f)};
static const ox_attr_def scale_attrs[] = {PARAM(0, "scale", 1.0f)};
static const ox_attr_def alpha_beta_attrs[] = {PARAM(0, "alpha", 1.0f), PARAM(1, "beta", 1.0f)};
static const ox_attr_def shrink_attrs[] = {PARAM(0, "bias", 0.0f), PARAM(1, "lambd", 0.5f)};
static const ox_attr_def quick_gelu_attrs[] = {PARAM(0, "alpha", 1.702f)};
static const ox_attr_def gelu_attrs[] = {OX_ATTR_STR(unary_attrs, approximate, "none")};

static const struct {
  const char *op;
  ox_unary fn;
  int tile;
} functions[] = {
    {"Abs", OX_UN_ABS, OX_TILE_CHEAP},
    {"Acos", OX_UN_ACOS, OX_TILE_SLOW},
    {"Acosh", OX_UN_ACOSH, OX_TILE_SLOW},
    {"Affine", OX_UN_AFFINE, OX_TILE_CHEAP},
    {"Asin", OX_UN_ASIN, OX_TILE_SLOW},
    {"Asinh", OX_UN_ASINH, OX_TILE_SLOW},
    {"Atan", OX_UN_ATAN, OX_TILE_MATH},
    {"Atanh", OX_UN_ATANH, OX_TILE_SLOW},
    {"Ceil", OX_UN_CEIL, OX_TILE_CHEAP},
    {"Celu", OX_UN_CELU, OX_TILE_MATH},
    {"Cos", OX_UN_COS, OX_TILE_MATH},
    {"Cosh", OX_UN_COSH, OX_TILE_SLOW},
    {"Elu", OX_UN_ELU, OX_TILE_MATH},
    {"Erf", OX_UN_ERF, OX_TILE_MATH},
    {"Exp", OX_UN_EXP, OX_TILE_MATH},
    {"Floor", OX_UN_FLOOR, OX_TILE_CHEAP},
    {"Gelu", OX_UN_GELU, OX_TILE_MATH},
    {"HardSigmoid", OX_UN_HARD_SIGMOID, OX_TILE_CHEAP},
    {"HardSwish", OX_UN_HARD_SWISH, OX_TILE_CHEAP},
    {"LeakyRelu", OX_UN_LEAKY_RELU, OX_TILE_CHEAP},
    {"Log", OX_UN_LOG, OX_TILE_MATH},
    {"Mish", OX_UN_MISH, OX_TILE_MATH},
    {"Neg", OX_UN_NEG, OX_TILE_CHEAP},
    {"ParametricSoftplus", OX_UN_PARAMETRIC_SOFTPLUS, OX_TILE_MATH},
    {"QuickGelu", OX_UN_SWISH, OX_TILE_MATH},
    {"Reciprocal", OX_UN_RECIPROCAL, OX_TILE_CHEAP},
    {"Relu", OX_UN_RELU, OX_TILE_CHEAP},
    {"Round", OX_UN_ROUND, OX_TILE_CHEAP},
    {"Scale", OX_UN_AFFINE, OX_TILE_CHEAP},
    {"ScaledTanh", OX_UN_SCALED_TANH, OX_TILE_MATH},
    {"Selu", OX_UN_SELU, OX_TILE_MATH},
    {"Shrink", OX_UN_SHRINK, OX_TILE_CHEAP},
    {"Sigmoid", OX_UN_SIGMOID, OX_TILE_MATH},
    {"Sign", OX_UN_SIGN, OX_TILE_CHEAP},
    {"Sin", OX_UN_SIN, OX_TILE_MATH},
    {"Sinh", OX_UN_SINH, OX_TILE_SLOW},
    {"Softplus", OX_UN_SOFTPLUS, OX_TILE_MATH},
    {"Softsign", OX_UN_SOFTSIGN, OX_TILE_CHEAP},
    {"Sqrt", OX_UN_SQRT, OX_TILE_CHEAP},
    {"Swish", OX_UN_SWISH, OX_TILE_MATH},
    {"Tan", OX_UN_TAN, OX_TILE_SLOW},
    {"Tanh", OX_UN_TANH, OX_TILE_MATH},
    {"ThresholdedRelu", OX_UN_THRESHOLDED_RELU, OX_TILE_CHEAP},
};

typedef struct {
  ox_unary fn;
  int tile;
  float p[OX_UNARY_PARAMS];
  double p64[OX_UNARY_PARAMS];
} unary_state;

static ox_status *load(ox_load_ctx *c) {
  unary_state *s = OX_LOAD_NEW(c, unary_state);
  if (!s) return ox_oom();
  size_t i = 0;
  while (i < OX_COUNT(functions) && strcmp(functions[i].op, c->op) != 0) i++;
  if (i == OX_COUNT(functions)) return ox_fail(OX_FAIL, "%s is not a unary function", c->op);
  *s = (unary_state){.fn = functions[i].fn, .tile = functions[i].tile};
  const unary_attrs *a = c->attrs;
  for (int k = 0; a && k < OX_UNARY_PARAMS; k++) s->p[k] = a->p[k], s->p64[k] = (double)a->p[k];
  if (a && a->approximate) {
    if (strcmp(a->approximate, "tanh") == 0)
      s->fn = OX_UN_GELU_TANH;
    else if (strcmp(a->approximate, "none") != 0)
      return ox_fail(OX_INVALID_MODEL, "attribute 'approximate': wanted none or tanh, got '%s'", a->approximate);
  }
  c->state = s;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const unary_state *s = c->state;
  return ox_plan_elements(c, s->tile);
}

/* Through float, a block at a time: 16-bit types. */
static void run_narrow(const ox_kernel_ctx *c, const unary_state *s, int64_t begin, int64_t end) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_unary_f32 *u = ox_unary_f32_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  float block[OX_CONVERT_BLOCK];
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    cv->load_f32[t](c->in[0]->data, (size_t)i, n, block);
    u->fn[s->fn](block, block, n, s->p);
    cv->store_f32[t](block, c->out[0]->data, (size_t)i, n, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const unary_state *s = c->state;
  const ox_tensor *x = c->in[0];
  int64_t begin, end;
  ox_tile_span(tiles, s->tile, ox_shape_count(&x->shape), &begin, &end);
  if (begin >= end) return NULL;
  size_t n = (size_t)(end - begin), bytes = ox_dtype_bits(x->dtype) / 8;
  const void *in = (const char *)x->data + (size_t)begin * bytes;
  void *out = (char *)c->out[0]->data + (size_t)begin * bytes;
  if (x->dtype == OX_F32) {
    ox_unary_f32_select(c->isa)->fn[s->fn](in, out, n, s->p);
  } else if (x->dtype == OX_F64) {
    ox_unary_f64_select(c->isa, s->fn)(in, out, n, s->p64);
  } else if (OX_BIT(x->dtype) & OX_T_FLOAT16S) {
    run_narrow(c, s, begin, end);
  } else {
    ox_unary_int_fn *fn = ox_unary_int(c->isa, s->fn, (unsigned)bytes, ox_dtype_is_signed(x->dtype));
    if (!fn) return ox_fail(OX_NOT_IMPLEMENTED, "not defined for %s", ox_dtype_name(x->dtype));
    fn(in, out, n, s->p64);
  }
  return NULL;
}

/* ---- derivatives: g is the adjoint of y ---- */

static ox_status *gradient_neg(ox_tape *t, const ox_node *n, ox_id g) {
  return ox_tape_credit_op(t, n->in[0], "Neg", g, OX_NONE);
}

static ox_status *gradient_exp(ox_tape *t, const ox_node *n, ox_id g) {
  return ox_tape_credit_op(t, n->in[0], "Mul", g, n->out[0]);
}

static ox_status *gradient_log(ox_tape *t, const ox_node *n, ox_id g) {
  return ox_tape_credit_op(t, n->in[0], "Div", g, n->in[0]);
}

static ox_status *gradient_sqrt(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id half;
  OX_TRY(ox_tape_scalar(t, n->in[0], 0.5f, &half));
  OX_TRY(ox_tape_emit(t, "Mul", g, half, &g));
  return ox_tape_credit_op(t, n->in[0], "Div", g, n->out[0]);
}

static ox_status *gradient_tanh(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id square, scaled, y = n->out[0];
  OX_TRY(ox_tape_emit(t, "Mul", y, y, &square));
  OX_TRY(ox_tape_emit(t, "Mul", g, square, &scaled));
  return ox_tape_credit_op(t, n->in[0], "Sub", g, scaled);
}

static ox_status *gradient_sigmoid(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id gy, gyy, y = n->out[0];
  OX_TRY(ox_tape_emit(t, "Mul", g, y, &gy));
  OX_TRY(ox_tape_emit(t, "Mul", gy, y, &gyy));
  return ox_tape_credit_op(t, n->in[0], "Sub", gy, gyy);
}

/* The sign of y is 1 where x > 0, else 0. */
static ox_status *gradient_relu(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id sign;
  OX_TRY(ox_tape_emit(t, "Sign", n->out[0], OX_NONE, &sign));
  return ox_tape_credit_op(t, n->in[0], "Mul", g, sign);
}

/* ---- activations ---- */

static bool read_gelu(const ox_graph *g, const ox_node *n, ox_activation *a) {
  const ox_attr *how = ox_node_attr(n, "approximate");
  (void)g;
  if (how && how->v.s.n == 4 && memcmp(how->v.s.p, "tanh", 4) == 0) a->name = "FastGelu";
  return true;
}

/* x sigmoid(alpha x) */
static bool read_swish(const ox_graph *g, const ox_node *n, ox_activation *a) {
  (void)g, (void)n;
  if (a->params[0] == 1) *a = (ox_activation){.name = "Silu"};
  return true;
}

#define ROW(op, dom, ver, mask, ...)                                                              \
  {                                                                                               \
    OX_SCHEMA(.name = op, .domain = dom, .since = ver, .types = {mask}, .min_in = 1, .max_in = 1, \
              .attrs_bytes = sizeof(unary_attrs), .infer = ox_infer_same_as_input, __VA_ARGS__),  \
        OX_KERNEL(.inplace = 1, .load = load, .prepare = prepare, .run = run)                     \
  }
#define UNARY(op, mask) ROW(op, NULL, 1, mask, .attrs = NULL)
#define SMOOTH(op, mask, d) ROW(op, NULL, 1, mask, .gradient = d)
#define WITH(op, ver, mask, table) ROW(op, NULL, ver, mask, OX_ATTRS(table))
#define ACTIVATION(op, ver, table, fn, read) ROW(op, NULL, ver, OX_T_FLOAT, OX_ATTRS(table), OX_IS_ACTIVATION(fn, read))

static const ox_op ops[] = {
    UNARY("Abs", OX_T_NUMBER),
    UNARY("Acos", OX_T_FLOAT),
    UNARY("Acosh", OX_T_FLOAT),
    WITH("Affine", 1, OX_T_FLOAT, affine_attrs),
    UNARY("Asin", OX_T_FLOAT),
    UNARY("Asinh", OX_T_FLOAT),
    UNARY("Atan", OX_T_FLOAT),
    UNARY("Atanh", OX_T_FLOAT),
    UNARY("Ceil", OX_T_FLOAT),
    WITH("Celu", 12, OX_T_FLOAT, alpha_attrs),
    UNARY("Cos", OX_T_FLOAT),
    UNARY("Cosh", OX_T_FLOAT),
    ACTIVATION("Elu", 1, alpha_attrs, "Elu", NULL),
    UNARY("Erf", OX_T_NUMBER),
    SMOOTH("Exp", OX_T_FLOAT, gradient_exp),
    UNARY("Floor", OX_T_FLOAT),
    ACTIVATION("Gelu", 20, gelu_attrs, "Gelu", read_gelu),
    ACTIVATION("HardSigmoid", 1, hard_sigmoid_attrs, "HardSigmoid", NULL),
    ROW("HardSwish", NULL, 1, OX_T_FLOAT, OX_IS_ACTIVATION("HardSwish", NULL)),
    ACTIVATION("LeakyRelu", 1, leaky_relu_attrs, "LeakyRelu", NULL),
    SMOOTH("Log", OX_T_FLOAT, gradient_log),
    UNARY("Mish", OX_T_FLOAT),
    SMOOTH("Neg", OX_T_FLOAT | OX_T_SINT, gradient_neg),
    WITH("ParametricSoftplus", 1, OX_T_FLOAT, alpha_beta_attrs),
    UNARY("Reciprocal", OX_T_FLOAT),
    ROW("Relu", NULL, 1, OX_T_FLOAT | OX_T_SINT, .gradient = gradient_relu, OX_IS_ACTIVATION("Relu", NULL)),
    UNARY("Round", OX_T_FLOAT),
    WITH("Scale", 1, OX_T_FLOAT, scale_attrs),
    WITH("ScaledTanh", 1, OX_T_FLOAT, alpha_beta_attrs),
    WITH("Selu", 1, OX_T_FLOAT, selu1_attrs),
    WITH("Selu", 6, OX_T_FLOAT, selu_attrs),
    WITH("Shrink", 9, OX_T_NUMBER, shrink_attrs),
    ROW("Sigmoid", NULL, 1, OX_T_FLOAT, .gradient = gradient_sigmoid, OX_IS_ACTIVATION("Sigmoid", NULL)),
    UNARY("Sign", OX_T_NUMBER),
    UNARY("Sin", OX_T_FLOAT),
    UNARY("Sinh", OX_T_FLOAT),
    UNARY("Softplus", OX_T_FLOAT),
    UNARY("Softsign", OX_T_FLOAT),
    SMOOTH("Sqrt", OX_T_FLOAT, gradient_sqrt),
    ACTIVATION("Swish", 24, alpha_attrs, "QuickGelu", read_swish),
    UNARY("Tan", OX_T_FLOAT),
    ROW("Tanh", NULL, 1, OX_T_FLOAT, .gradient = gradient_tanh, OX_IS_ACTIVATION("Tanh", NULL)),
    WITH("ThresholdedRelu", 1, OX_T_FLOAT, alpha_attrs),
    ROW("Gelu", "com.microsoft", 1, OX_T_FLOAT, OX_IS_ACTIVATION("Gelu", NULL)),
    ROW("QuickGelu", "com.microsoft", 1, OX_T_FLOAT, OX_ATTRS(quick_gelu_attrs),
        OX_IS_ACTIVATION("QuickGelu", read_swish)),
};
const ox_op_set ox_ops_unary = {ops, OX_COUNT(ops)};
