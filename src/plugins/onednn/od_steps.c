/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_steps.c - appending steps to a plan. */
#include <string.h>

#include "od_build.h"

ox_status *od_check(const od_builder *b, dnnl_status_t s, const char *doing) {
  if (s == dnnl_success) return NULL;
  const ox_ep_host *h = &b->ep->host;
  return od_fail(b->ep, od_status_code(s), "oneDNN: node '%s' (%s): %s: %s", h->node_name(b->g, b->node),
                 h->node_op(b->g, b->node), doing, od_status_text(s));
}

ox_status *od_bad_shape(const od_builder *b, const char *what) {
  const ox_ep_host *h = &b->ep->host;
  return od_fail(b->ep, OX_SHAPE_MISMATCH, "oneDNN: node '%s' (%s): %s", h->node_name(b->g, b->node),
                 h->node_op(b->g, b->node), what);
}

ox_status *od_attr_create(od_builder *b, dnnl_primitive_attr_t *out_attr) {
  OD_TRY(od_check(b, dnnl_primitive_attr_create(out_attr), "making attributes"));
  dnnl_status_t s = dnnl_primitive_attr_set_scratchpad_mode(*out_attr, dnnl_scratchpad_mode_user);
  if (s == dnnl_success && b->ep->bf16) s = dnnl_primitive_attr_set_fpmath_mode(*out_attr, dnnl_fpmath_mode_bf16);
  if (s != dnnl_success) dnnl_primitive_attr_destroy(*out_attr);
  return od_check(b, s, "setting attributes");
}

static const char *impl_of(const_dnnl_primitive_desc_t pd) {
  const char *name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return name;
}

bool od_can_create(const_dnnl_primitive_desc_t pd) {
  dnnl_primitive_t prim;
  if (dnnl_primitive_create(&prim, pd) != dnnl_success) return false;
  dnnl_primitive_destroy(prim);
  return true;
}

bool od_is_reference(const_dnnl_primitive_desc_t pd) { return strncmp(impl_of(pd), "ref", 3) == 0; }

/* Do the threads of this primitive wait for each other? True for implementations on the library's GEMM ("gemm", but not
 * "brgemm"), for RNNs, which call either, and for BatchNormalization, which has barriers between blocks of channels -
 * except its TBB variant, which has none and relies on as many members as there were threads at its creation. */
static bool works_together(const_dnnl_primitive_desc_t pd, const char *impl) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
  const char *gemm = strstr(impl, "gemm");
  if (kind == dnnl_batch_normalization) return !strstr(impl, "tbb");
  return kind == dnnl_rnn || (gemm && (gemm < impl + 2 || strncmp(gemm - 2, "br", 2) != 0));
}

static void touch(od_plan *p, uint32_t mem) {
  od_buf *buf = &p->bufs[p->mems[mem].buf];
  if (buf->first == UINT32_MAX) buf->first = (uint32_t)p->n_steps;
  buf->last = (uint32_t)p->n_steps;
}

static ox_status *add_step(od_builder *b, od_step s) {
  od_plan *p = b->plan;
  if (!od_grow(b->ep, (void **)&p->steps, &p->cap_steps, p->n_steps + 1, sizeof *p->steps)) {
    if (s.prim) dnnl_primitive_destroy(s.prim);
    return od_no_memory(b->ep);
  }
  s.node = b->node, s.name = b->ep->host.node_name(b->g, b->node);
  for (uint32_t i = 0; i < s.n_args; i++) touch(p, s.arg[i].mem);
  p->steps[p->n_steps++] = s;
  return NULL;
}

static ox_status *emit(od_builder *b, const_dnnl_primitive_desc_t pd, od_args *args) {
  const_dnnl_primitive_desc_t own;
  dnnl_memory_desc_t scratch = od_md_wanted(pd, dnnl_query_scratchpad_md, 0);
  if (dnnl_memory_desc_get_size(&scratch)) {
    uint32_t mem;
    OD_TRY(od_temporary(b, &scratch, &mem));
    od_arg_add(args, DNNL_ARG_SCRATCHPAD, mem);
  }
  od_step s = {.n_args = args->n};
  memcpy(s.arg, args->a, sizeof s.arg);
  OD_TRY(od_check(b, dnnl_primitive_create(&s.prim, pd), "creating a primitive"));
  s.impl = dnnl_primitive_get_primitive_desc(s.prim, &own) == dnnl_success ? impl_of(own) : "";
  s.together = works_together(pd, s.impl);
  return add_step(b, s);
}

ox_status *od_emit(od_builder *b, dnnl_primitive_desc_t pd, od_args *args) {
  ox_status *st = emit(b, pd, args);
  dnnl_primitive_desc_destroy(pd);
  return st;
}

ox_status *od_emit_fill(od_builder *b, uint32_t mem, float with) {
  return add_step(b,
                  (od_step){.impl = "fill", .own = OD_FILL, .fill = with, .n_args = 1, .arg = {{DNNL_ARG_DST, mem}}});
}

ox_status *od_emit_own(od_builder *b, od_own own, const od_loops_job *job, const uint32_t *mems, uint32_t n) {
  static const char *const names[] = {
      [OD_QUANTIZE] = "quantize", [OD_DEQUANTIZE] = "dequantize", [OD_ADD] = "add of integers", [OD_ERF] = "erf"};
  od_step s = {.impl = names[own], .own = own, .job = *job, .n_args = n};
  for (uint32_t i = 0; i < n; i++) s.arg[i] = (od_arg){0, mems[i]};
  return add_step(b, s);
}
