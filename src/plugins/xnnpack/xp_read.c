/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_read.c - see xp_read.h. */
#include "xp_read.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool xp_is_op(const xp_graph *g, size_t node, const char *op) {
  static const char other[] = "com.microsoft.";
  size_t n = strncmp(op, other, strlen(other)) == 0 ? strlen(other) : 0;
  if (node == SIZE_MAX || strcmp(g->h->node_op(g->g, node), op + n) != 0) return false;
  const char *domain = g->h->node_domain(g->g, node);
  return n ? strncmp(domain, other, n - 1) == 0 && !domain[n - 1] : !*domain;
}
uint32_t xp_in(const xp_graph *g, size_t node, size_t i) { return g->h->node_in(g->g, node, i); }
uint32_t xp_out(const xp_graph *g, size_t node, size_t i) { return g->h->node_out(g->g, node, i); }

int64_t xp_attr_int(const xp_graph *g, size_t node, const char *name, int64_t otherwise) {
  ox_attr_view a;
  return g->h->node_attr(g->g, node, name, &a) ? a.i : otherwise;
}
float xp_attr_float(const xp_graph *g, size_t node, const char *name, float otherwise) {
  ox_attr_view a;
  return g->h->node_attr(g->g, node, name, &a) ? a.f : otherwise;
}
const int64_t *xp_attr_ints(const xp_graph *g, size_t node, const char *name, size_t *out_n) {
  ox_attr_view a;
  *out_n = 0;
  if (!g->h->node_attr(g->g, node, name, &a)) return NULL;
  *out_n = a.n;
  return a.ints;
}
bool xp_attr_is(const xp_graph *g, size_t node, const char *name, const char *value, const char *otherwise) {
  ox_attr_view a;
  if (!g->h->node_attr(g->g, node, name, &a)) return strcmp(value, otherwise) == 0;
  return a.s.n == strlen(value) && memcmp(a.s.p, value, a.s.n) == 0;
}

uint32_t xp_type(const xp_graph *g, uint32_t value) {
  uint32_t kind = OX_NONE_VALUE, type = 0;
  ox_shape s;
  if (value != UINT32_MAX) g->h->value_type(g->g, value, &kind, &type, &s);
  return kind == OX_TENSOR ? type : 0;
}

bool xp_is_float(const xp_graph *g, uint32_t value) {
  uint32_t type = xp_type(g, value);
  return type == OX_F32 || (type == OX_F16 && g->half);
}
uint32_t xp_inner_type(const xp_graph *g, uint32_t value) {
  uint32_t type = xp_type(g, value);
  return xp_is_float(g, value) ? OX_F32 : type == OX_U8 || type == OX_I8 ? OX_I8 : 0;
}

void xp_shape(const xp_graph *g, uint32_t value, xp_dims *out) {
  uint32_t kind = OX_NONE_VALUE, type;
  ox_shape s = {.rank = -1};
  if (value != UINT32_MAX) g->h->value_type(g->g, value, &kind, &type, &s);
  const ox_tensor *t = value == UINT32_MAX ? NULL : g->h->value_const(g->g, value);
  if (t) s = t->shape;
  out->rank = s.rank > XP_MOST_RANK ? -1 : s.rank;
  for (int d = 0; d < out->rank; d++) out->d[d] = s.dim[d] < 0 ? -1 : s.dim[d];
}
int xp_rank(const xp_graph *g, uint32_t value) {
  xp_dims d;
  xp_shape(g, value, &d);
  return d.rank;
}

/* ---- constants ---- */

static const ox_tensor *constant(const xp_graph *g, uint32_t value) {
  const ox_tensor *t = value == UINT32_MAX ? NULL : g->h->value_const(g->g, value);
  return t && t->kind == OX_TENSOR && (t->data || !t->bytes) ? t : NULL;
}

float xp_from_half(uint16_t half) {
  uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & 31, fraction = half & 1023, bits;
  float y;
  if (!exponent) return (sign ? -0x1p-24f : 0x1p-24f) * (float)fraction;
  bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
  memcpy(&y, &bits, sizeof y);
  return y;
}

bool xp_const_float(const xp_graph *g, uint32_t value, float *out) {
  const ox_tensor *t = constant(g, value);
  if (t && t->dtype == OX_F16 && t->bytes == 2) {
    uint16_t half;
    memcpy(&half, t->data, sizeof half);
    *out = xp_from_half(half);
    return true;
  }
  if (!t || t->dtype != OX_F32 || t->bytes != sizeof *out) return false;
  memcpy(out, t->data, sizeof *out);
  return true;
}

int xp_const_ints(const xp_graph *g, uint32_t value, int64_t *out, int most) {
  const ox_tensor *t = constant(g, value);
  if (!t || (t->dtype != OX_I64 && t->dtype != OX_I32) || t->shape.rank > 1) return -1;
  size_t size = t->dtype == OX_I64 ? 8 : 4, n = t->bytes / size;
  if (n > (size_t)most) return -1;
  for (size_t i = 0; i < n; i++) {
    int32_t small;
    if (size == 8)
      memcpy(&out[i], (const char *)t->data + i * 8, 8);
    else
      memcpy(&small, (const char *)t->data + i * 4, 4), out[i] = small;
  }
  return (int)n;
}

/* ---- quantization ---- */

bool xp_read_quant(const xp_graph *g, uint32_t scale, uint32_t zero, uint32_t type, xp_quant *out) {
  const ox_tensor *z = constant(g, zero);
  if (type != OX_U8 && type != OX_I8) return false;
  if (xp_type(g, scale) != OX_F32 || !xp_const_float(g, scale, &out->scale)) return false;
  if (!(out->scale > 0) || !isnormal(out->scale)) return false;
  out->zero = 0;
  if (zero == UINT32_MAX) return true;
  if (!z || z->bytes != 1 || z->dtype != type) return false;
  out->zero = type == OX_U8 ? *(const uint8_t *)z->data : *(const int8_t *)z->data;
  return true;
}

size_t xp_dequantizer(const xp_graph *g, uint32_t value) {
  size_t node = value == UINT32_MAX ? SIZE_MAX : g->h->value_producer(g->g, value);
  return xp_is_op(g, node, "DequantizeLinear") ? node : SIZE_MAX;
}

bool xp_is_weights(const xp_graph *g, uint32_t value) {
  if (constant(g, value)) return xp_is_float(g, value);
  size_t node = xp_dequantizer(g, value);
  if (node == SIZE_MAX || g->h->value_use_count(g->g, value) != 1) return false;
  uint32_t zero = xp_in(g, node, 2), type = xp_type(g, xp_in(g, node, 0));
  if (type != OX_U8 && type != OX_I8 && type != OX_I32) return false;
  if (xp_attr_int(g, node, "block_size", 0) || xp_type(g, value) != OX_F32) return false;
  return constant(g, xp_in(g, node, 0)) && constant(g, xp_in(g, node, 1)) && xp_type(g, xp_in(g, node, 1)) == OX_F32 &&
         (zero == UINT32_MAX || (constant(g, zero) && xp_type(g, zero) == type));
}

size_t xp_turner(const xp_graph *g, size_t node) {
  uint32_t b = xp_is_op(g, node, "MatMul") ? xp_in(g, node, 1) : UINT32_MAX;
  size_t from = b == UINT32_MAX ? SIZE_MAX : g->h->value_producer(g->g, b), n;
  int rank = xp_rank(g, b);
  if (!xp_is_op(g, from, "Transpose") || g->h->value_use_count(g->g, b) != 1) return SIZE_MAX;
  if (rank < 2 || xp_rank(g, xp_in(g, node, 0)) < 2 || !xp_is_float(g, b)) return SIZE_MAX;
  const int64_t *perm = xp_attr_ints(g, from, "perm", &n);
  return (perm ? n == (size_t)rank && perm[rank - 2] == rank - 1 : rank == 2) ? from : SIZE_MAX;
}

/* ---- attributes of operators ---- */

static const char *read_pads(const xp_graph *g, size_t node, int n, xp_window *w) {
  size_t count;
  const int64_t *p = xp_attr_ints(g, node, "pads", &count);
  if (!p) return NULL;
  if (count != 2 * (size_t)n) return REASON("two pads for each spatial axis", "{pads}");
  for (size_t i = 0; i < count; i++)
    if (p[i] < 0 || p[i] > INT32_MAX / 4) return REASON("pads from 0 to 2^29", "{pads}");
  if (n == 2) w->top = (uint32_t)p[0], w->bottom = (uint32_t)p[2];
  w->left = (uint32_t)p[n - 1], w->right = (uint32_t)p[2 * n - 1];
  return NULL;
}

/* An attribute with one number per spatial dimension; where there is only one dimension, rows get |otherwise|. */
static bool read_pair(const xp_graph *g, size_t node, const char *name, int n, uint32_t least, uint32_t otherwise,
                      uint32_t out[2]) {
  size_t count;
  const int64_t *p = xp_attr_ints(g, node, name, &count);
  out[0] = out[1] = otherwise;
  if (!p) return true;
  if (count != (size_t)n) return false;
  for (int i = 0; i < n; i++) {
    if (p[i] < (int64_t)least || p[i] > INT32_MAX / 4) return false;
    out[2 - n + i] = (uint32_t)p[i];
  }
  return true;
}

static bool skips_pixels(const xp_window *w) {
  for (int i = 0; i < 2; i++)
    if ((w->size[i] - 1) * w->dilation[i] + 1 < w->stride[i]) return true;
  return false;
}

const char *xp_read_window(const xp_graph *g, size_t node, const int64_t *kernel, int n, bool transposed,
                           xp_window *out) {
  memset(out, 0, sizeof *out);
  if (!read_pair(g, node, "strides", n, 1, 1, out->stride))
    return REASON("a stride of 1 or more for each spatial axis", "{strides}");
  if (!read_pair(g, node, "dilations", n, 1, 1, out->dilation))
    return REASON("a dilation of 1 or more for each spatial axis", "{dilations}");
  if (!read_pair(g, node, "output_padding", n, 0, 0, out->extra))
    return REASON("an output_padding of 0 or more for each spatial axis", "{output_padding}");
  if (!read_pair(g, node, "kernel_shape", n, 1, 0, out->size))
    return REASON("a kernel_shape of 1 or more for each spatial axis", "{kernel_shape}");
  for (int i = 0; i < n; i++) {
    uint32_t *size = &out->size[2 - n + i];
    if (!kernel) continue;
    if (kernel[i] < 1 || kernel[i] > INT32_MAX / 4 || (*size && *size != kernel[i]))
      return REASON("a kernel_shape that is the weights'", "{kernel_shape}, {1}");
    *size = (uint32_t)kernel[i];
  }
  if (n == 1) out->size[0] = 1;
  for (int i = 0; i < 2; i++)
    if ((uint64_t)out->size[i] * out->dilation[i] > INT32_MAX / 4)
      return REASON("a window of at most 2^29 elements along each axis", "{kernel_shape}, {dilations}, {1}");
  if (!out->size[0] || !out->size[1])
    return REASON("a kernel_shape of 1 or more for each spatial axis", "{kernel_shape}");
  if (xp_attr_is(g, node, "auto_pad", "VALID", "NOTSET")) return NULL;
  if (xp_attr_is(g, node, "auto_pad", "SAME_UPPER", "NOTSET") && !transposed) {
    out->same = out->size[0] > 1 || out->size[1] > 1; /* one pixel needs no pads */
    return out->same && skips_pixels(out)
               ? REASON("windows as large as their stride under auto_pad (the library pads by a negative number)",
                        "{auto_pad}, {strides}, {kernel_shape}")
               : NULL;
  }
  if (!xp_attr_is(g, node, "auto_pad", "NOTSET", "NOTSET"))
    return REASON("the auto_pad NOTSET, VALID or SAME_UPPER (the last one not transposed)", "{auto_pad}");
  return read_pads(g, node, n, out);
}

const char *xp_read_bounds(const xp_graph *g, size_t node, float *lo, float *hi) {
  *lo = -INFINITY, *hi = INFINITY;
  if (xp_is_op(g, node, "Relu")) {
    *lo = 0;
    return NULL;
  }
  if (g->h->node_version(g->g, node) < 11) {
    *lo = xp_attr_float(g, node, "min", -FLT_MAX), *hi = xp_attr_float(g, node, "max", FLT_MAX);
  } else {
    uint32_t min = xp_in(g, node, 1), max = xp_in(g, node, 2);
    if (min != UINT32_MAX && !xp_const_float(g, min, lo)) return REASON("constant bounds", "{1}, {2}");
    if (max != UINT32_MAX && !xp_const_float(g, max, hi)) return REASON("constant bounds", "{1}, {2}");
  }
  return *lo < *hi ? NULL : REASON("a lower bound below the upper one", "{min}, {max}, {1}, {2}");
}
