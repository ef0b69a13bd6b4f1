/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_quant.c - QuantizeLinear and DequantizeLinear. A DequantizeLinear adds no step at first, as its
 * readers may be able to work on the integers. */
#include "od_quant.h"

#include <string.h>

#include "od_eltwise.h"

/* ---- scales and zeros ---- */

float od_scale_at(const od_quant *q, int64_t i) {
  float x;
  memcpy(&x, (const char *)q->scale->data + (od_quant_is_one(q) ? 0 : i * 4), sizeof x);
  return x;
}

int32_t od_zero_at(const od_quant *q, int64_t i) {
  int32_t x;
  if (!q->zero) return 0;
  if (od_count(&q->zero->shape) == 1) i = 0;
  if (q->zero->dtype == OX_U8) return ((const uint8_t *)q->zero->data)[i];
  if (q->zero->dtype == OX_I8) return ((const int8_t *)q->zero->data)[i];
  memcpy(&x, (const char *)q->zero->data + i * 4, sizeof x);
  return x;
}

bool od_quant_is_one(const od_quant *q) { return od_count(&q->scale->shape) == 1; }

const char *od_quant_read(const od_node *n, size_t at, od_quant *q) {
  *q = (od_quant){.from = OD_NO_VALUE, .scale = od_in_const(n, at), .zero = od_in_const(n, at + 1)};
  if (!q->scale || q->scale->dtype != OX_F32) return REASON("constant scales of float32", "{inputs}");
  if (!q->zero && od_in(n, at + 1) != OD_NO_VALUE) return REASON("constant zero points", "{inputs}");
  if (q->zero && od_type(q->zero->dtype) == dnnl_data_type_undef) return REASON("8-bit integers", "{inputs}");
  if (q->zero && od_count(&q->zero->shape) != od_count(&q->scale->shape))
    return REASON("as many zero points as scales", "{inputs}");
  for (int64_t i = 0; i < od_count(&q->scale->shape); i++)
    if (!(od_scale_at(q, i) > 0)) return REASON("scales above 0", "{inputs}");
  return od_int(n, "block_size", 0) ? REASON("no blocks", "{block_size}") : NULL;
}

/* ---- QuantizeLinear ---- */

static const char *refuse_quantize(const od_node *n) {
  od_quant q;
  const char *why = od_refuse_type(n, 0);
  if (!why) why = od_quant_read(n, 1, &q);
  if (why) return why;
  if (od_in_type(n, 0, NULL) != OX_F32) return REASON("float32", "{0}");
  if (!od_quant_is_one(&q)) return REASON("one scale", "{1}");
  if (q.zero ? q.zero->dtype != OX_U8 && q.zero->dtype != OX_I8 : od_int(n, "output_dtype", OX_U8) != OX_U8)
    return REASON("8-bit integers as output", "{2}, {output_dtype=of the zero point}");
  return od_int(n, "precision", 0) ? REASON("a division in the input's precision", "{precision}") : NULL;
}

bool od_quantize_read(const od_node *n, od_quant *out, uint32_t *out_type) {
  if (strcmp(od_op_name(n), "QuantizeLinear") != 0 || refuse_quantize(n) || od_quant_read(n, 1, out)) return false;
  *out_type = out->zero ? out->zero->dtype : OX_U8;
  return true;
}

od_grid od_grid_of(const od_quant *q, uint32_t dtype) {
  return (od_grid){od_scale_at(q, 0), od_zero_at(q, 0), dtype == OX_I8};
}

/* The output gets the layout of the input if that is dense, else row-major. */
static ox_status *build_quantize(od_builder *b, const od_node *n) {
  od_quant q;
  uint32_t type, mem[2], x = od_in(n, 0);
  od_quantize_read(n, &q, &type);
  OD_TRY(od_read_dense(b, x, &mem[1]));
  ox_shape shape = *od_in_shape(b, n, 0);
  dnnl_memory_desc_t md = *od_md(b, mem[1]);
  md.data_type = od_type(type);
  OD_TRY(od_write(b, od_out(n, 0), &shape, type, &md, &mem[0]));
  if (od_count(&shape) == 0) return NULL;
  od_loops_job job = {.y = od_grid_of(&q, type), .low = type == OX_I8 ? -128 : 0};
  job.high = job.low + 255;
  return od_emit_own(b, OD_QUANTIZE, &job, mem, 2);
}

/* ---- DequantizeLinear ---- */

static const char *refuse_dequantize(const od_node *n) {
  od_quant q;
  ox_shape x;
  uint32_t type = od_in_type(n, 0, &x);
  const char *why = od_quant_read(n, 1, &q);
  int64_t axis = od_int(n, "axis", 1);
  const ox_tensor *t = od_in_const(n, 0);
  if (why) return why;
  if (x.rank < 0 || x.rank > 5) return REASON("a known rank of at most 5", "{0}");
  if (type != OX_U8 && type != OX_I8 && !(type == OX_I32 && t))
    return REASON("8-bit integers, or constant ones of int32", "{0}");
  if (od_quant_is_one(&q)) return NULL;
  if (!t) return REASON("constant integers where there are several scales", "{0}, {1}");
  if (axis < 0) axis += x.rank;
  return axis < 0 || axis >= x.rank || x.dim[axis] != od_count(&q.scale->shape)
             ? REASON("a scale for each element of the axis", "{axis=1}, {0}, {1}")
             : NULL;
}

static ox_status *build_dequantize(od_builder *b, const od_node *n) {
  od_value *y = od_val(b, od_out(n, 0));
  const od_value *x = od_val(b, od_in(n, 0));
  int64_t axis = od_int(n, "axis", 1);
  od_quant_read(n, 1, &y->quant);
  y->quant.from = od_in(n, 0), y->quant.axis = (int)(axis < 0 ? axis + x->shape.rank : axis);
  y->shape = x->shape, y->dtype = OX_F32;
  return NULL;
}

static int32_t integer_at(const ox_tensor *t, int64_t i) {
  int32_t x;
  if (t->dtype == OX_U8) return ((const uint8_t *)t->data)[i];
  if (t->dtype == OX_I8) return ((const int8_t *)t->data)[i];
  memcpy(&x, (const char *)t->data + i * 4, sizeof x);
  return x;
}

static ox_status *dequantize_constant(od_builder *b, uint32_t value) {
  od_value *v = od_val(b, value);
  const ox_tensor *t = od_val(b, v->quant.from)->constant;
  dnnl_memory_desc_t md = od_md_of(v);
  uint32_t mem;
  int64_t inner = 1, n = od_count(&v->shape);
  for (int i = v->quant.axis + 1; i < v->shape.rank; i++) inner *= v->shape.dim[i];
  int64_t along = od_quant_is_one(&v->quant) ? 1 : v->shape.dim[v->quant.axis];
  OD_TRY(od_fixed_find(b, value, 0, &md, &mem));
  if (mem == OD_NO_VALUE) {
    float *numbers = od_alloc(b->ep, (size_t)n * sizeof *numbers);
    if (!numbers) return od_no_memory(b->ep);
    for (int64_t i = 0; i < n; i++) {
      int64_t at = along == 1 ? 0 : i / inner % along;
      int64_t from_zero = (int64_t)integer_at(t, i) - od_zero_at(&v->quant, at);
      numbers[i] = (float)from_zero * od_scale_at(&v->quant, at);
    }
    ox_status *st = od_fixed_make(b, value, 0, numbers, &md, &md, &mem);
    od_free(b->ep, numbers);
    if (st) return st;
  }
  return od_define(b, value, &v->shape, OX_F32, mem);
}

ox_status *od_dequantize(od_builder *b, uint32_t value) {
  od_value *v = od_val(b, value);
  uint32_t mem[2];
  if (od_val(b, v->quant.from)->constant) return dequantize_constant(b, value);
  OD_TRY(od_read_dense(b, v->quant.from, &mem[1]));
  v = od_val(b, value);
  od_loops_job job = {.x = {od_grid_of(&v->quant, od_val(b, v->quant.from)->dtype)}};
  dnnl_memory_desc_t md = *od_md(b, mem[1]);
  md.data_type = dnnl_f32;
  ox_shape shape = v->shape;
  OD_TRY(od_write(b, value, &shape, OX_F32, &md, &mem[0]));
  return od_count(&shape) ? od_emit_own(b, OD_DEQUANTIZE, &job, mem, 2) : NULL;
}

const od_op od_quant_ops[] = {{"QuantizeLinear", refuse_quantize, build_quantize},
                              {"DequantizeLinear", refuse_dequantize, build_dequantize},
                              {NULL, NULL, NULL}};
