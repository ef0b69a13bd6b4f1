/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_fixed.c - constants in the layouts that primitives ask for, made once for all plans of a program.
 */
#include <string.h>

#include "od_build.h"

static ox_status *as_mem(od_builder *b, const od_fixed *f, uint32_t *out_mem) {
  OD_TRY(od_temporary(b, &f->md, out_mem));
  od_buf *buf = &b->plan->bufs[b->plan->mems[*out_mem].buf];
  buf->place = OD_FIXED, buf->fixed = f->data;
  return NULL;
}

ox_status *od_fixed_find(od_builder *b, uint32_t value, uint64_t tag, const dnnl_memory_desc_t *to, uint32_t *out_mem) {
  *out_mem = OD_NO_VALUE;
  for (const od_fixed *f = b->p->fixed; f; f = f->next)
    if (f->value == value && f->tag == tag && dnnl_memory_desc_equal(&f->md, to)) return as_mem(b, f, out_mem);
  return NULL;
}

/* Runs a reorder immediately, at build time. */
static dnnl_status_t reorder_with(od_builder *b, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_memory_desc_t *from_md, *to_md;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t prim;
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  dnnl_status_t s = dnnl_memory_get_memory_desc(from, &from_md);
  if (s == dnnl_success) s = dnnl_memory_get_memory_desc(to, &to_md);
  if (s == dnnl_success)
    s = dnnl_reorder_primitive_desc_create(&pd, from_md, b->ep->engine, to_md, b->ep->engine, NULL);
  if (s != dnnl_success) return s;
  s = dnnl_primitive_create(&prim, pd);
  dnnl_primitive_desc_destroy(pd);
  if (s != dnnl_success) return s;
  s = dnnl_primitive_execute(prim, b->ep->stream, 2, args);
  dnnl_primitive_destroy(prim);
  return s;
}

static dnnl_status_t reorder(od_builder *b, const dnnl_memory_desc_t *from, const void *data,
                             const dnnl_memory_desc_t *to, void *result) {
  dnnl_memory_t in, out;
  dnnl_status_t s = dnnl_memory_create(&in, from, b->ep->engine, (void *)data);
  if (s != dnnl_success) return s;
  s = dnnl_memory_create(&out, to, b->ep->engine, result);
  if (s == dnnl_success) {
    s = reorder_with(b, in, out);
    dnnl_memory_destroy(out);
  }
  dnnl_memory_destroy(in);
  return s;
}

ox_status *od_fixed_make(od_builder *b, uint32_t value, uint64_t tag, const void *data, const dnnl_memory_desc_t *from,
                         const dnnl_memory_desc_t *to, uint32_t *out_mem) {
  size_t bytes = dnnl_memory_desc_get_size(to);
  od_fixed *f = od_alloc(b->ep, sizeof *f);
  if (!f) return od_no_memory(b->ep);
  f->data = od_alloc(b->ep, bytes);
  if (!f->data) {
    od_free(b->ep, f);
    return od_no_memory(b->ep);
  }
  f->value = value, f->tag = tag, f->md = *to;
  f->next = b->p->fixed, b->p->fixed = f; /* now owned by the program */
  if (dnnl_memory_desc_equal(from, to)) {
    if (bytes) memcpy(f->data, data, bytes);
  } else {
    dnnl_status_t s = reorder(b, from, data, to, f->data);
    if (s != dnnl_success) f->value = OD_NO_VALUE; /* od_fixed_find skips it */
    OD_TRY(od_check(b, s, "changing the layout of a constant"));
  }
  return as_mem(b, f, out_mem);
}

ox_status *od_weights(od_builder *b, uint32_t value, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                      uint32_t *out_mem) {
  const od_value *v = od_val(b, value);
  if (v->constant) {
    /* Two readers may view one constant differently and want the same layout, so the tag hashes the view. */
    uint64_t tag = 0;
    for (int i = 0; i < from->ndims; i++)
      tag = (tag * 1000003 + (uint64_t)from->dims[i]) * 1000003 + (uint64_t)from->format_desc.blocking.strides[i];
    OD_TRY(od_fixed_find(b, value, tag | 1, to, out_mem));
    return *out_mem != OD_NO_VALUE ? NULL : od_fixed_make(b, value, tag | 1, v->constant->data, from, to, out_mem);
  }
  uint32_t plain, seen;
  OD_TRY(od_read_plain(b, value, &plain));
  OD_TRY(od_view(b, plain, from, &seen));
  return od_reorder(b, seen, to, out_mem);
}
