/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_eltwise.c - see od_eltwise.h. */
#include "od_eltwise.h"

#include <math.h>
#include <string.h>

/* ---- what a node computes ---- */

const char *od_refuse_type(const od_node *n, size_t input) {
  ox_shape s;
  uint32_t type = od_in_type(n, input, &s);
  if (type != OX_F32 && type != OX_BF16) return REASON("float32 or bfloat16", "{inputs}");
  if (type == OX_BF16 && !n->ep->has_bf16) return REASON("a CPU on which the library has bfloat16", "{inputs}");
  if (s.rank < 0) return REASON("a known rank of at most 5", "{inputs}");
  return s.rank > 5 ? REASON("a known rank of at most 5", "{inputs}") : NULL;
}

typedef struct {
  const char *op;
  dnnl_alg_kind_t alg;
  const char *alpha_name, *beta_name; /* attributes that override |alpha| and |beta|; NULL: none */
  float alpha, beta;
} simple;

static const simple table[] = {
    {"Relu", dnnl_eltwise_relu, NULL, NULL, 0, 0},        {"LeakyRelu", dnnl_eltwise_relu, "alpha", NULL, 0.01f, 0},
    {"Elu", dnnl_eltwise_elu, "alpha", NULL, 1, 0},       {"Tanh", dnnl_eltwise_tanh, NULL, NULL, 0, 0},
    {"Sigmoid", dnnl_eltwise_logistic, NULL, NULL, 0, 0}, {"Exp", dnnl_eltwise_exp, NULL, NULL, 0, 0},
    {"Sqrt", dnnl_eltwise_sqrt, NULL, NULL, 0, 0},        {"Abs", dnnl_eltwise_abs, NULL, NULL, 0, 0},
    {"Neg", dnnl_eltwise_linear, NULL, NULL, -1, 0},      {"Reciprocal", dnnl_eltwise_pow, NULL, NULL, 1, -1},
    {"Round", dnnl_eltwise_round, NULL, NULL, 0, 0},      {"Softplus", dnnl_eltwise_soft_relu, NULL, NULL, 0, 0},
    {"Mish", dnnl_eltwise_mish, NULL, NULL, 0, 0},        {"HardSwish", dnnl_eltwise_hardswish, NULL, NULL, 0, 0},
    {"Swish", dnnl_eltwise_swish, "alpha", NULL, 1, 0}};

static const char *read_gelu(const od_node *n, od_functions *out) {
  bool is_tanh = od_is(n, "approximate", "tanh", "none");
  if (!is_tanh && !od_is(n, "approximate", "none", "none"))
    return REASON("the approximation none or tanh", "{approximate}");
  out->f[out->n++] = (od_function){is_tanh ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf, 0, 0};
  return NULL;
}

static const char *read_clip(const od_node *n, od_functions *out) {
  od_function f = {dnnl_eltwise_clip, -INFINITY, INFINITY};
  f.alpha = od_float(n, "min", f.alpha), f.beta = od_float(n, "max", f.beta);
  if (od_in(n, 1) != OD_NO_VALUE && !od_float_const(n, 1, &f.alpha)) return REASON("constant bounds", "{1}, {2}");
  if (od_in(n, 2) != OD_NO_VALUE && !od_float_const(n, 2, &f.beta)) return REASON("constant bounds", "{1}, {2}");
  if (!(f.alpha <= f.beta)) return REASON("a lower bound that is not above the upper one", "{min}, {max}, {1}, {2}");
  out->f[out->n++] = f;
  return NULL;
}

static void read_hard_sigmoid(const od_node *n, od_functions *out) {
  out->f[out->n++] = (od_function){dnnl_eltwise_linear, od_float(n, "alpha", 0.2f), od_float(n, "beta", 0.5f)};
  out->f[out->n++] = (od_function){dnnl_eltwise_clip, 0, 1};
}

/* Which of two inputs is one constant number of no higher rank than the other input? -1: neither. */
static int find_number(const od_node *n, float *c) {
  for (int i = 1; i >= 0; i--) {
    const ox_tensor *t = od_in_const(n, (size_t)i);
    int rank = od_in_rank(n, (size_t)(1 - i));
    if (t && rank >= t->shape.rank && od_float_const(n, (size_t)i, c)) return i;
  }
  return -1;
}

static const char *read_arithmetic(const od_node *n, od_functions *out) {
  const char *op = od_op_name(n);
  float c;
  int at = find_number(n, &c);
  od_function f = {dnnl_eltwise_linear, 1, 0};
  if (at < 0) return REASON("one constant number of float32 among two inputs", "{inputs}");
  out->input = (size_t)(1 - at);
  if (strcmp(op, "Add") == 0)
    f.beta = c;
  else if (strcmp(op, "Mul") == 0)
    f.alpha = c;
  else if (strcmp(op, "Sub") == 0 && at == 1)
    f.beta = -c;
  else if (strcmp(op, "Sub") == 0)
    f.alpha = -1, f.beta = c;
  else if (strcmp(op, "Div") == 0 && at == 1 && isfinite(1 / c))
    f.alpha = 1 / c;
  else if (strcmp(op, "Div") == 0 && at == 0)
    f = (od_function){dnnl_eltwise_pow, c, -1};
  else if (strcmp(op, "Pow") == 0 && at == 1)
    f = (od_function){dnnl_eltwise_pow, 1, c};
  else
    return REASON("a function of one number", "{op}, {inputs}");
  if (f.alg == dnnl_eltwise_pow && f.beta == 2) f = (od_function){dnnl_eltwise_square, 0, 0};
  out->f[out->n++] = f;
  return NULL;
}

const char *od_functions_read(const od_node *n, od_functions *out) {
  const char *op = od_op_name(n);
  *out = (od_functions){0};
  for (size_t i = 0; i < OD_COUNT(table); i++) {
    const simple *s = &table[i];
    if (strcmp(s->op, op) != 0) continue;
    out->f[out->n++] = (od_function){s->alg, s->alpha_name ? od_float(n, s->alpha_name, s->alpha) : s->alpha, s->beta};
    return NULL;
  }
  if (strcmp(op, "Gelu") == 0) return read_gelu(n, out);
  if (strcmp(op, "Clip") == 0) return read_clip(n, out);
  if (strcmp(op, "HardSigmoid") == 0) return read_hard_sigmoid(n, out), NULL;
  return read_arithmetic(n, out);
}

/* ---- a node of its own ---- */

const char *od_functions_refuse(const od_node *n) {
  od_functions f;
  const char *why = od_functions_read(n, &f);
  return why ? why : od_refuse_type(n, f.input);
}

ox_status *od_emit_function(od_builder *b, const od_function *f, uint32_t mem, uint32_t to) {
  dnnl_eltwise_desc_t desc;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  od_args args = {0};
  dnnl_status_t s =
      dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, f->alg, od_md(b, mem), f->alpha, f->beta);
  OD_TRY(od_check(b, s, "describing a function"));
  OD_TRY(od_attr_create(b, &attr));
  s = dnnl_primitive_desc_create(&pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "describing a function"));
  od_arg_add(&args, DNNL_ARG_SRC, mem);
  od_arg_add(&args, DNNL_ARG_DST, to);
  return od_emit(b, pd, &args);
}

/* The output gets the layout of the input. */
ox_status *od_functions_build(od_builder *b, const od_node *n) {
  od_functions f;
  uint32_t mem, to;
  od_functions_read(n, &f);
  OD_TRY(od_read(b, od_in(n, f.input), &mem));
  const od_value *v = od_val(b, od_in(n, f.input));
  ox_shape shape = v->shape;
  uint32_t dtype = v->dtype;
  dnnl_memory_desc_t md = *od_md(b, mem);
  OD_TRY(od_write(b, od_out(n, 0), &shape, dtype, &md, &to));
  if (od_count(&shape) == 0) return NULL;
  for (uint32_t i = 0; i < f.n; i++, mem = to) OD_TRY(od_emit_function(b, &f.f[i], mem, to));
  return NULL;
}

const od_op od_eltwise_ops[] = {{"Relu", od_functions_refuse, od_functions_build},
                                {"LeakyRelu", od_functions_refuse, od_functions_build},
                                {"Elu", od_functions_refuse, od_functions_build},
                                {"Tanh", od_functions_refuse, od_functions_build},
                                {"Sigmoid", od_functions_refuse, od_functions_build},
                                {"Exp", od_functions_refuse, od_functions_build},
                                {"Sqrt", od_functions_refuse, od_functions_build},
                                {"Abs", od_functions_refuse, od_functions_build},
                                {"Neg", od_functions_refuse, od_functions_build},
                                {"Reciprocal", od_functions_refuse, od_functions_build},
                                {"Round", od_functions_refuse, od_functions_build},
                                {"Softplus", od_functions_refuse, od_functions_build},
                                {"Mish", od_functions_refuse, od_functions_build},
                                {"HardSwish", od_functions_refuse, od_functions_build},
                                {"Swish", od_functions_refuse, od_functions_build},
                                {"Gelu", od_functions_refuse, od_functions_build},
                                {"Clip", od_functions_refuse, od_functions_build},
                                {"HardSigmoid", od_functions_refuse, od_functions_build},
                                {NULL, NULL, NULL}};
