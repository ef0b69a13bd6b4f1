/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8_add.c - an Add of integers between DequantizeLinears and a QuantizeLinear, with a Relu or
 * none: y = sa / sy (a - za) + sb / sy (b - zb) + zy, and no less than zy. */
#include <math.h>

#include "od_int8.h"

typedef struct {
  const od_quant *q[2];
  od_chain chain;
  bool relu;
} sum;

static bool find(od_builder *b, const od_node *n, sum *s) {
  const od_value *v[] = {od_val(b, od_in(n, 0)), od_val(b, od_in(n, 1))};
  for (int i = 0; i < 2; i++) {
    s->q[i] = &v[i]->quant;
    if (v[i]->quant.from == OD_NO_VALUE || !od_quant_is_one(&v[i]->quant)) return false;
    if (od_val(b, v[i]->quant.from)->constant || v[i]->shape.rank < 1) return false;
  }
  for (int i = 0; i < v[0]->shape.rank; i++)
    if (v[0]->shape.rank != v[1]->shape.rank || v[0]->shape.dim[i] != v[1]->shape.dim[i]) return false;
  od_chain_begin(od_out(n, 0), &v[0]->shape, OX_F32, v[0]->shape.rank, v[0]->shape.dim, &s->chain);
  s->chain.of_integers = true;
  od_chain_find(b, &s->chain);
  s->relu = s->chain.n_posts == 1;
  return s->chain.quantized && s->chain.n_posts < 2 && od_chain_scales_first(&s->chain) &&
         od_count(&s->chain.shape) > 0;
}

static dnnl_status_t set_attr(const sum *s, dnnl_primitive_attr_t attr) {
  float shift = (float)s->chain.q_zero;
  dnnl_post_ops_t posts;
  dnnl_status_t st = dnnl_post_ops_create(&posts);
  if (st != dnnl_success) return st;
  for (int i = 0; i < 2; i++) {
    float scale = od_scale_at(s->q[i], 0) / s->chain.q_scale;
    shift -= scale * (float)od_zero_at(s->q[i], 0);
    if (st == dnnl_success)
      st = dnnl_primitive_attr_set_scales(attr, i ? DNNL_ARG_SRC_1 : DNNL_ARG_SRC_0, 1, 0, &scale);
  }
  if (st == dnnl_success && shift != 0) st = dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_linear, 1, shift);
  if (st == dnnl_success && s->relu)
    st = dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_clip, (float)s->chain.q_zero, INFINITY);
  if (st == dnnl_success) st = dnnl_primitive_attr_set_post_ops(attr, posts);
  dnnl_post_ops_destroy(posts);
  return st;
}

static ox_status *describe(od_builder *b, const sum *s, const uint32_t *mem, dnnl_primitive_desc_t *out_pd) {
  dnnl_binary_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_memory_desc_t y = *od_md(b, mem[0]);
  y.data_type = od_type(od_chain_type(&s->chain));
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t st = set_attr(s, attr);
  if (st == dnnl_success) st = dnnl_binary_desc_init(&desc, dnnl_binary_add, od_md(b, mem[0]), od_md(b, mem[1]), &y);
  if (st == dnnl_success) st = dnnl_primitive_desc_create(out_pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  if (st == dnnl_success && !od_is_reference(*out_pd)) return NULL;
  if (st == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
  *out_pd = NULL;
  return st == dnnl_success || st == dnnl_unimplemented ? NULL : od_check(b, st, "describing a sum of integers");
}

ox_status *od_int8_add_build(od_builder *b, const od_node *n, bool *out_done) {
  sum s;
  uint32_t mem[2];
  od_args args = {0};
  dnnl_primitive_desc_t pd;
  *out_done = false;
  if (!find(b, n, &s)) return NULL;
  OD_TRY(od_read(b, s.q[0]->from, &mem[0]));
  dnnl_memory_desc_t md = *od_md(b, mem[0]);
  md.data_type = od_type(od_val(b, s.q[1]->from)->dtype);
  OD_TRY(od_read_as(b, s.q[1]->from, &md, &mem[1]));
  OD_TRY(describe(b, &s, mem, &pd));
  if (!pd) return NULL;
  *out_done = true;
  od_arg_add(&args, DNNL_ARG_SRC_0, mem[0]);
  od_arg_add(&args, DNNL_ARG_SRC_1, mem[1]);
  s.chain.n_posts = 0; /* they are in the attributes */
  return od_chain_emit(b, &s.chain, pd, &args);
}
