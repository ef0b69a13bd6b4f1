/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_steps.c - appending steps to a plan. */
#include <string.h>

#include <oneapi/dnnl/dnnl_debug.h>

#include "od_shares.h"

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

const char *od_impl_of(const_dnnl_primitive_desc_t pd) {
  const char *name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return name;
}

bool od_can_create(const_dnnl_primitive_desc_t pd) {
  dnnl_primitive_t prim;
  if (od_primitive_create(&prim, pd) != dnnl_success) return false;
  dnnl_primitive_destroy(prim);
  return true;
}

bool od_is_reference(const_dnnl_primitive_desc_t pd) { return strncmp(od_impl_of(pd), "ref", 3) == 0; }

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
  OD_TRY(od_check(b, od_primitive_create(&s.prim, pd), "creating a primitive"));
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
  s.kind = dnnl_prim_kind2str(kind);
  s.impl = dnnl_primitive_get_primitive_desc(s.prim, &own) == dnnl_success ? od_impl_of(own) : "";
  s.fixed = od_is_fixed(pd), s.together = !s.fixed && od_waits(pd);
  return add_step(b, s);
}

/* The last |n| steps will run at the same time. */
static void set_beside(od_plan *p, uint32_t n) {
  size_t first = p->n_steps - n;
  p->steps[first].beside = n - 1;
  for (size_t i = first; i < p->n_steps; i++)
    for (uint32_t k = 0; k < p->steps[i].n_args; k++) {
      od_buf *buf = &p->bufs[p->mems[p->steps[i].arg[k].mem].buf];
      buf->first = (uint32_t)OD_MIN(buf->first, first);
      buf->last = (uint32_t)(p->n_steps - 1);
    }
}

static ox_status *emit_pieces(od_builder *b, const od_pieces *p, const od_args *args) {
  for (uint32_t i = 0; i < p->n; i++) {
    od_args some;
    OD_TRY(od_pieces_args(b, p, i, args, &some));
    OD_TRY(emit(b, i + 1 < p->n ? p->most : p->last, &some));
  }
  set_beside(b->plan, p->n);
  return NULL;
}

ox_status *od_emit(od_builder *b, dnnl_primitive_desc_t pd, od_args *args) {
  od_pieces pieces;
  ox_status *st = od_pieces_make(b, pd, args, &pieces);
  if (!st) st = pieces.n ? emit_pieces(b, &pieces, args) : emit(b, pd, args);
  od_pieces_release(&pieces);
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
