/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8_add.c - an Add between DequantizeLinears and a QuantizeLinear, optionally with Relus and
 * Clips, in a loop of our own: the library's sum takes no zero points for its operands. */
#include "od_int8.h"

static bool is_one(od_builder *b, const od_value *v) {
  if (v->quant.from == OD_NO_VALUE || !od_quant_is_one(&v->quant) || v->shape.rank < 1) return false;
  const od_value *from = od_val(b, v->quant.from);
  return !from->constant && (from->dtype == OX_U8 || from->dtype == OX_I8);
}

static bool find(od_builder *b, const od_node *n, od_chain *c) {
  const od_value *x = od_val(b, od_in(n, 0)), *y = od_val(b, od_in(n, 1));
  if (!is_one(b, x) || !is_one(b, y) || x->shape.rank != y->shape.rank || od_count(&x->shape) == 0) return false;
  for (int i = 0; i < x->shape.rank; i++)
    if (x->shape.dim[i] != y->shape.dim[i]) return false;
  od_chain_begin(od_out(n, 0), &x->shape, OX_F32, x->shape.rank, x->shape.dim, c);
  c->of_integers = true;
  od_chain_find(b, c);
  return c->quantized && od_chain_only_cuts(c);
}

ox_status *od_int8_add_build(od_builder *b, const od_node *n, bool *out_done) {
  od_chain c;
  uint32_t mem[3];
  od_loops_job job;
  *out_done = find(b, n, &c);
  if (!*out_done) return NULL;
  job = (od_loops_job){.y = {c.q_scale, c.q_zero, c.q_type == OX_I8}, .low = c.q_low, .high = c.q_high};
  for (size_t i = 0; i < 2; i++) {
    const od_quant *q = &od_val(b, od_in(n, i))->quant;
    job.x[i] = od_grid_of(q, od_val(b, q->from)->dtype);
  }
  OD_TRY(od_read_dense(b, od_val(b, od_in(n, 0))->quant.from, &mem[1]));
  dnnl_memory_desc_t md = *od_md(b, mem[1]);
  md.data_type = od_type(od_val(b, od_val(b, od_in(n, 1))->quant.from)->dtype);
  OD_TRY(od_read_as(b, od_val(b, od_in(n, 1))->quant.from, &md, &mem[2]));
  md.data_type = od_type(c.q_type);
  OD_TRY(od_write(b, c.out, &c.shape, c.q_type, &md, &mem[0]));
  od_node_done(b, n->index);
  for (uint32_t i = 0; i < c.n_nodes; i++) od_node_done(b, c.node[i].node);
  return od_emit_own(b, OD_ADD, &job, mem, 3);
}
