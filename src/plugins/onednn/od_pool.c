/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_pool.c - MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool. */
#include <string.h>

#include "od_eltwise.h"
#include "od_quant.h"
#include "od_window.h"

static bool is(const od_node *n, const char *op) { return strcmp(od_op_name(n), op) == 0; }
static bool is_global(const od_node *n) { return is(n, "GlobalAveragePool") || is(n, "GlobalMaxPool"); }

/* MaxPool is taken for 8-bit integers, too. Averages of dequantized integers are declined: they often are ties of the
 * following quantization, so the order of summation decides the result, and it must be the CPU provider's. */
static const char *refuse_type(const od_node *n) {
  uint32_t type = od_in_type(n, 0, NULL);
  if (is(n, "MaxPool") && (type == OX_U8 || type == OX_I8)) return NULL;
  bool is_average = is(n, "AveragePool") || is(n, "GlobalAveragePool");
  return is_average && od_is_dequantized(n, 0)
             ? REASON("floats that no DequantizeLinear made (the order of the sums would decide ties)", "{0}")
             : od_refuse_type(n, 0);
}

static const char *refuse(const od_node *n) {
  int64_t size[3];
  const char *why = refuse_type(n);
  int spatial = od_in_rank(n, 0) - 2;
  if (why) return why;
  if (od_out(n, 1) != OD_NO_VALUE) return REASON("no indices", "{>1}");
  if (is_global(n)) return spatial < 1 || spatial > 3 ? REASON("1 to 3 spatial axes", "{0}") : NULL;
  if ((why = od_window_refuse(n, spatial))) return why;
  if (!od_ints(n, "kernel_shape", size, (size_t)spatial, 0))
    return REASON("a kernel_shape of one number for each spatial axis", "{kernel_shape}, {0}");
  for (int i = 0; i < spatial; i++)
    if (size[i] < 1 || size[i] > INT32_MAX) return REASON("a kernel_shape of 1 or more", "{kernel_shape}");
  if (od_int(n, "storage_order", 0)) return REASON("a storage_order of 0", "{storage_order}");
  bool ceil = od_int(n, "ceil_mode", 0), counts = od_int(n, "count_include_pad", 0);
  if (is(n, "AveragePool") && counts && (ceil || !od_is(n, "auto_pad", "NOTSET", "NOTSET")))
    return REASON("pads that count neither beside ceil_mode nor auto_pad (the library counts others)",
                  "{count_include_pad}, {ceil_mode=0}, {auto_pad=NOTSET}");
  int64_t pads[6];
  od_ints(n, "pads", pads, 2 * (size_t)spatial, 0);
  for (int i = 0; i < 2 * spatial; i++)
    if (pads[i] >= size[i % spatial]) return REASON("pads smaller than the window", "{pads}, {kernel_shape}");
  return NULL;
}

static bool find_window(const od_node *n, const ox_shape *x, od_window *w) {
  int64_t size[3];
  if (is_global(n)) {
    *w = (od_window){.n = x->rank - 2};
    for (int i = 0; i < w->n; i++) w->size[i] = x->dim[2 + i], w->step[i] = 1, w->out[i] = 1;
    return true;
  }
  od_ints(n, "kernel_shape", size, (size_t)x->rank - 2, 1);
  return od_window_read(n, x->rank - 2, x->dim + 2, size, true, od_int(n, "ceil_mode", 0) != 0, w);
}

static dnnl_alg_kind_t kind_of(const od_node *n) {
  if (is(n, "MaxPool") || is(n, "GlobalMaxPool")) return dnnl_pooling_max;
  return od_int(n, "count_include_pad", 0) ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
}

static ox_status *describe(od_builder *b, const od_node *n, const od_window *w, uint32_t x, const ox_shape *y,
                           dnnl_primitive_desc_t *out_pd) {
  dnnl_pooling_v2_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_memory_desc_t y_md = od_md_any(y->rank, y->dim, od_md(b, x)->data_type);
  dnnl_status_t s = dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, kind_of(n), od_md(b, x), &y_md,
                                                      w->step, w->size, w->dilate, w->before, w->after);
  OD_TRY(od_check(b, s, "describing a pooling"));
  OD_TRY(od_attr_create(b, &attr));
  s = dnnl_primitive_desc_create(out_pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  return od_check(b, s, "describing a pooling");
}

static ox_status *build_pool(od_builder *b, const od_node *n, uint32_t value, uint32_t out, uint32_t *out_mem) {
  od_window w;
  dnnl_primitive_desc_t pd;
  od_args args = {0};
  uint32_t x;
  OD_TRY(od_read(b, value, &x));
  ox_shape y = od_val(b, value)->shape;
  uint32_t dtype = od_val(b, value)->dtype;
  if (!find_window(n, &y, &w)) return od_bad_shape(b, "the window is larger than the input");
  for (int i = 0; i < w.n; i++) y.dim[2 + i] = w.out[i];
  if (od_count(&y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(y.rank, y.dim, od_type(dtype));
    return od_write(b, out, &y, dtype, &md, out_mem);
  }
  OD_TRY(describe(b, n, &w, x, &y, &pd));
  dnnl_memory_desc_t md = od_md_wanted(pd, dnnl_query_dst_md, 0);
  ox_status *st = od_write(b, out, &y, dtype, &md, out_mem);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_SRC, x);
  od_arg_add(&args, DNNL_ARG_DST, *out_mem);
  return od_emit(b, pd, &args);
}

/* MaxPool of a quantized value works on its integers, as quantization preserves order. */
static ox_status *build_integers(od_builder *b, const od_node *n) {
  uint32_t mem, y = od_extra_value(b);
  od_quant q = od_val(b, od_in(n, 0))->quant;
  OD_TRY(build_pool(b, n, q.from, y, &mem));
  od_value *out = od_val(b, od_out(n, 0));
  out->shape = od_val(b, y)->shape, out->dtype = OX_F32;
  out->quant = q, out->quant.from = y;
  return NULL;
}

static ox_status *build(od_builder *b, const od_node *n) {
  uint32_t mem;
  const od_value *x = od_val(b, od_in(n, 0));
  if (x->quant.from != OD_NO_VALUE && od_quant_is_one(&x->quant) && kind_of(n) == dnnl_pooling_max)
    return build_integers(b, n);
  return build_pool(b, n, od_in(n, 0), od_out(n, 0), &mem);
}

const od_op od_pool_ops[] = {{"MaxPool", refuse, build},
                             {"AveragePool", refuse, build},
                             {"GlobalAveragePool", refuse, build},
                             {"GlobalMaxPool", refuse, build},
                             {NULL, NULL, NULL}};
