/* SPDX-License-Identifier: Apache-2.0
 * ops/flex_attention.c - ai.onnx.preview.FlexAttention: attributes, types, and the kernel for nodes without bodies.
 * Nodes with bodies that change scores or weights are the executor's. */
#include <math.h>

#include "ops/attention/attn_common.h"

typedef struct flex_attrs {
  ox_graph *score_mod, *prob_mod;
  int64_t softmax_precision;
  float scale;
} flex_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_ROW_(flex_attrs, score_mod, "score_mod", OX_ATTR_GRAPH_KIND, false, OX_NO_FIELD, .i = 0),
    OX_ATTR_ROW_(flex_attrs, prob_mod, "prob_mod", OX_ATTR_GRAPH_KIND, false, OX_NO_FIELD, .i = 0),
    OX_ATTR_INT(flex_attrs, softmax_precision, 0),
    OX_ATTR_FLOAT(flex_attrs, scale, 0),
};

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *check_shapes(const ox_shape *q, const ox_shape *k, const ox_shape *v) {
  char tq[OX_SHAPE_TEXT], tk[OX_SHAPE_TEXT], tv[OX_SHAPE_TEXT];
  bool ok = q->rank == 4 && k->rank == 4 && v->rank == 4;
  ok = ok && !differ(q->dim[0], k->dim[0]) && !differ(k->dim[0], v->dim[0]) && !differ(k->dim[1], v->dim[1]) &&
       !differ(k->dim[2], v->dim[2]) && !differ(q->dim[3], k->dim[3]);
  if (ok && k->dim[1] >= 0 && q->dim[1] >= 0) ok = k->dim[1] > 0 && q->dim[1] % k->dim[1] == 0;
  if (ok) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention: Q %s, K %s and V %s do not fit each other", ox_shape_text(q, tq),
                 ox_shape_text(k, tk), ox_shape_text(v, tv));
}

static ox_status *infer(ox_infer_ctx *c) {
  const flex_attrs *a = c->attrs;
  const ox_shape *q = &c->in[0]->shape, *k = &c->in[1]->shape, *v = &c->in[2]->shape;
  const ox_graph *bodies[] = {a->score_mod, a->prob_mod};
  for (size_t i = 0; i < OX_COUNT(bodies); i++)
    if (bodies[i] && (bodies[i]->n_inputs != 1 || bodies[i]->n_outputs != 1))
      return ox_fail(OX_INVALID_MODEL, "FlexAttention: a body must have one input and one output");
  if (a->softmax_precision && a->softmax_precision != OX_F32 && a->softmax_precision != OX_F64 &&
      a->softmax_precision != OX_F16 && a->softmax_precision != OX_BF16)
    return ox_fail(OX_INVALID_MODEL, "FlexAttention: softmax_precision %lld", (long long)a->softmax_precision);
  for (int i = 1; i < 3; i++)
    if (c->in[i]->dtype && c->in[0]->dtype && c->in[i]->dtype != c->in[0]->dtype)
      return ox_fail(OX_INVALID_MODEL, "FlexAttention: input %d is %s, Q %s", i, ox_dtype_name(c->in[i]->dtype),
                     ox_dtype_name(c->in[0]->dtype));
  ox_shape y = ox_shape_unknown();
  if (q->rank >= 0 && k->rank >= 0 && v->rank >= 0) {
    OX_TRY(check_shapes(q, k, v));
    y = ox_shape_of(4, (int64_t[]){q->dim[0], q->dim[1], q->dim[2], v->dim[3]});
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const flex_attrs *a = c->attrs;
  if (!a->score_mod && !a->prob_mod) return NULL;
  return ox_fail(OX_NOT_IMPLEMENTED, "FlexAttention with bodies outside of a graph");
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *q = &c->in[0]->shape, *k = &c->in[1]->shape, *v = &c->in[2]->shape;
  float scale = ((const flex_attrs *)c->attrs)->scale;
  ox_attn *a = ox_ctx_alloc(c, sizeof *a);
  if (!a) return ox_oom();
  c->prep = a;
  OX_TRY(check_shapes(q, k, v));
  *a = (ox_attn){.batch = q->dim[0],
                 .heads = q->dim[1],
                 .kv_heads = k->dim[1],
                 .q_len = q->dim[2],
                 .kv_len = k->dim[2],
                 .d = q->dim[3],
                 .dv = v->dim[3],
                 .left = -1,
                 .right = -1,
                 .qk_mode = OX_ATTN_QK_NONE,
                 .scale = scale != 0 ? scale : (float)(1 / sqrt((double)OX_MAX(q->dim[3], 1)))};
  a->q = ox_attn_bnsh(c->in[0], a->heads, a->q_len, a->d), a->k = ox_attn_bnsh(c->in[1], a->kv_heads, a->kv_len, a->d);
  a->v = ox_attn_bnsh(c->in[2], a->kv_heads, a->kv_len, a->dv);
  a->out = ox_attn_bnsh(c->out[0], a->heads, a->q_len, a->dv);
  ox_attn_book(c, 0, a);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  ox_attn a = *(const ox_attn *)c->prep;
  a.q.p = c->in[0]->data, a.k.p = c->in[1]->data, a.v.p = c->in[2]->data, a.out.p = c->out[0]->data;
  ox_attn_run_tiles(c, &a, tiles, scratch);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "FlexAttention", .domain = "ai.onnx.preview", .since = 1, .min_in = 3, .max_in = 3,
               .types = {OX_T_FLOAT}, .traits = OX_NONDETERMINISTIC, /* bodies: neither folded nor merged */
               OX_ATTRS(attrs), .attrs_bytes = sizeof(flex_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_flex_attention = {ops, OX_COUNT(ops)};
