/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_values.c - graph values while a plan is built. A value exists in one or more forms: the layout
 * preferred by the primitive that makes it, and others that its readers asked for. */
#include <string.h>

#include "od_build.h"
#include "od_quant.h"

od_node od_node_of(const od_builder *b, size_t index) { return (od_node){b->ep, b->g, index}; }
uint32_t od_extra_value(od_builder *b) { return (uint32_t)(b->n_values + b->n_extra++); }
od_value *od_val(od_builder *b, uint32_t value) { return &b->values[value]; }
const ox_shape *od_in_shape(od_builder *b, const od_node *n, size_t i) { return &od_val(b, od_in(n, i))->shape; }

void od_node_done(od_builder *b, size_t node) {
  od_node n = od_node_of(b, node);
  b->done[node] = true;
  for (size_t i = 0; i < od_n_in(&n); i++) {
    uint32_t v = od_in(&n, i);
    if (v != OD_NO_VALUE && b->values[v].uses) b->values[v].uses--;
  }
}

size_t od_next_reader(const od_builder *b, uint32_t value, size_t from) {
  for (size_t k = from; k < b->n_nodes; k++) {
    od_node n = od_node_of(b, k);
    for (size_t i = 0; i < od_n_in(&n); i++)
      if (od_in(&n, i) == value) return k;
  }
  return SIZE_MAX;
}

size_t od_only_reader(const od_builder *b, uint32_t value) {
  const od_value *v = &b->values[value];
  return v->uses == 1 && v->output == OD_NONE ? od_next_reader(b, value, b->node + 1) : SIZE_MAX;
}

/* ---- memory ---- */

#define MOST_ELEMENTS ((int64_t)1 << 40) /* limit for one value */

static ox_status *add_buf(od_builder *b, od_buf buf, uint32_t *out_buf) {
  od_plan *p = b->plan;
  if (!od_grow(b->ep, (void **)&p->bufs, &p->cap_bufs, p->n_bufs + 1, sizeof *p->bufs)) return od_no_memory(b->ep);
  buf.first = UINT32_MAX;
  p->bufs[p->n_bufs] = buf, *out_buf = (uint32_t)p->n_bufs++;
  return NULL;
}

static ox_status *add_mem(od_builder *b, const dnnl_memory_desc_t *md, uint32_t buf, size_t offset, uint32_t *out_mem) {
  od_plan *p = b->plan;
  od_mem m = {*md, buf, offset}; /* a copy, as |md| may be in the array that is about to move */
  if (!od_grow(b->ep, (void **)&p->mems, &p->cap_mems, p->n_mems + 1, sizeof *p->mems)) return od_no_memory(b->ep);
  p->mems[p->n_mems] = m, *out_mem = (uint32_t)p->n_mems++;
  return NULL;
}

static ox_status *new_mem(od_builder *b, const dnnl_memory_desc_t *md, od_buf buf, uint32_t *out_mem) {
  uint32_t id = 0;
  buf.bytes = dnnl_memory_desc_get_size(md);
  OD_TRY(add_buf(b, buf, &id));
  return add_mem(b, md, id, 0, out_mem);
}

ox_status *od_temporary(od_builder *b, const dnnl_memory_desc_t *md, uint32_t *out_mem) {
  return new_mem(b, md, (od_buf){.place = OD_ARENA}, out_mem);
}

ox_status *od_view(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem) {
  return od_view_at(b, mem, md, 0, out_mem);
}

ox_status *od_view_at(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, size_t bytes, uint32_t *out_mem) {
  const od_mem *m = &b->plan->mems[mem];
  return add_mem(b, md, m->buf, m->offset + bytes, out_mem);
}

/* ---- forms ---- */

static void add_form(od_value *v, uint32_t mem) {
  if (v->n_forms < OD_MOST_FORMS) v->form[v->n_forms++] = mem; /* further forms are made again for each reader */
}

/* The value's form in the layout |md|; OD_NO_VALUE: it has none. */
static uint32_t find_form(const od_builder *b, const od_value *v, const dnnl_memory_desc_t *md) {
  for (uint32_t i = 0; i < v->n_forms; i++)
    if (dnnl_memory_desc_equal(od_md(b, v->form[i]), md)) return v->form[i];
  return OD_NO_VALUE;
}

ox_status *od_define(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem) {
  od_value *v = od_val(b, value);
  v->shape = *shape, v->dtype = dtype;
  b->plan->bufs[b->plan->mems[mem].buf].n_values++;
  add_form(v, mem);
  return NULL;
}

ox_status *od_define_seen(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem) {
  dnnl_memory_desc_t md = *od_md(b, mem), plain = od_md_plain(shape->rank, shape->dim, md.data_type);
  if (md.ndims != plain.ndims || memcmp(md.dims, plain.dims, sizeof *md.dims * (size_t)md.ndims) != 0)
    OD_TRY(od_view(b, mem, &plain, &mem));
  return od_define(b, value, shape, dtype, mem);
}

/* A row-major output of the part is written directly into the host's memory. */
ox_status *od_write(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, const dnnl_memory_desc_t *md,
                    uint32_t *out_mem) {
  const od_value *v = od_val(b, value);
  od_buf buf = {.place = OD_ARENA};
  if (od_count(shape) > MOST_ELEMENTS)
    return od_fail(b->ep, OX_LIMIT, "oneDNN: node '%s' makes a tensor that is too large",
                   b->ep->host.node_name(b->g, b->node));
  if (v->output != OD_NONE && od_md_is_plain(md)) buf = (od_buf){.place = OD_OUTPUT, .index = (uint32_t)v->output};
  OD_TRY(new_mem(b, md, buf, out_mem));
  return od_define_seen(b, value, shape, dtype, *out_mem);
}

static ox_status *read_const(od_builder *b, uint32_t value) {
  od_value *v = od_val(b, value);
  dnnl_memory_desc_t md = od_md_of(v);
  uint32_t mem;
  OD_TRY(od_weights(b, value, &md, &md, &mem));
  return od_define(b, value, &v->shape, v->dtype, mem);
}

ox_status *od_read(od_builder *b, uint32_t value, uint32_t *out_mem) {
  od_value *v = od_val(b, value);
  if (!v->n_forms && v->constant) OD_TRY(read_const(b, value));
  if (!v->n_forms && v->quant.from != OD_NO_VALUE) OD_TRY(od_dequantize(b, value));
  if (!v->n_forms)
    return od_fail(b->ep, OX_FAIL, "oneDNN: value '%s' is read before it is made", b->ep->host.value_name(b->g, value));
  *out_mem = v->form[0];
  return NULL;
}

ox_status *od_copy(od_builder *b, uint32_t from, uint32_t to) {
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  od_args args = {0};
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t s =
      dnnl_reorder_primitive_desc_create(&pd, od_md(b, from), b->ep->engine, od_md(b, to), b->ep->engine, attr);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "changing a layout"));
  od_arg_add(&args, DNNL_ARG_FROM, from);
  od_arg_add(&args, DNNL_ARG_TO, to);
  return od_emit(b, pd, &args);
}

ox_status *od_reorder(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem) {
  dnnl_memory_desc_t to = *md;
  *out_mem = mem;
  if (dnnl_memory_desc_equal(od_md(b, mem), &to)) return NULL;
  OD_TRY(od_temporary(b, &to, out_mem));
  return od_copy(b, mem, *out_mem);
}

ox_status *od_read_as(od_builder *b, uint32_t value, const dnnl_memory_desc_t *md, uint32_t *out_mem) {
  uint32_t mem;
  dnnl_memory_desc_t to = *md;
  OD_TRY(od_read(b, value, &mem));
  *out_mem = find_form(b, od_val(b, value), &to);
  if (*out_mem != OD_NO_VALUE) return NULL;
  OD_TRY(od_reorder(b, mem, &to, out_mem));
  b->plan->bufs[b->plan->mems[*out_mem].buf].n_values++;
  add_form(od_val(b, value), *out_mem);
  return NULL;
}

ox_status *od_read_plain(od_builder *b, uint32_t value, uint32_t *out_mem) {
  uint32_t mem;
  OD_TRY(od_read(b, value, &mem)); /* may dequantize, which sets the type */
  dnnl_memory_desc_t md = od_md_of(od_val(b, value));
  return od_read_as(b, value, &md, out_mem);
}

ox_status *od_read_dense(od_builder *b, uint32_t value, uint32_t *out_mem) {
  OD_TRY(od_read(b, value, out_mem));
  const dnnl_memory_desc_t *md = od_md(b, *out_mem);
  return od_md_is_dense(md) && md->ndims == OD_MAX(od_val(b, value)->shape.rank, 1) ? NULL
                                                                                    : od_read_plain(b, value, out_mem);
}

ox_status *od_read_dims(od_builder *b, uint32_t value, int rank, const int64_t *dims, uint32_t *out_mem) {
  uint32_t mem;
  OD_TRY(od_read_plain(b, value, &mem));
  dnnl_memory_desc_t md = od_md_plain(rank, dims, od_md(b, mem)->data_type);
  return od_view(b, mem, &md, out_mem);
}
