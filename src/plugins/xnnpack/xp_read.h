/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_read.h - what nodes say, read in the same way when they are claimed and when they are compiled. */
#ifndef XP_READ_H
#define XP_READ_H

#include "xp_program.h"

typedef struct xp_graph {
  const ox_ep_host *h;
  const ox_graph_view *g;
  bool half; /* the library converts float16 on this machine */
} xp_graph;

/* |op|: of ONNX, or with "com.microsoft." before it. */
bool xp_is_op(const xp_graph *g, size_t node, const char *op);
uint32_t xp_in(const xp_graph *g, size_t node, size_t i); /* UINT32_MAX: omitted, or beyond the end */
uint32_t xp_out(const xp_graph *g, size_t node, size_t i);
int64_t xp_attr_int(const xp_graph *g, size_t node, const char *name, int64_t otherwise);
float xp_attr_float(const xp_graph *g, size_t node, const char *name, float otherwise);
/* NULL: absent. */
const int64_t *xp_attr_ints(const xp_graph *g, size_t node, const char *name, size_t *out_n);
bool xp_attr_is(const xp_graph *g, size_t node, const char *name, const char *value, const char *otherwise);

/* A float16 as a float. */
float xp_from_half(uint16_t half);

/* Element type of a tensor; 0: no tensor, or unknown. */
uint32_t xp_type(const xp_graph *g, uint32_t value);
bool xp_is_float(const xp_graph *g, uint32_t value);
/* What a value is computed as: float32, or signed bytes; 0: the library has nothing for it. */
uint32_t xp_inner_type(const xp_graph *g, uint32_t value);
#define XP_NO_FLOAT "not float32, nor float16 where the library converts it"
/* With -1 for what is not known; rank -1: not known, or too many. */
void xp_shape(const xp_graph *g, uint32_t value, xp_dims *out);
int xp_rank(const xp_graph *g, uint32_t value);

/* Of a constant of one element, float32 or float16. */
bool xp_const_float(const xp_graph *g, uint32_t value, float *out);
/* Integers (int64 or int32) of a constant; at most |most|. -1: it is none. */
int xp_const_ints(const xp_graph *g, uint32_t value, int64_t *out, int most);

/* The scale and zero point of one Quantize- or DequantizeLinear, at inputs |scale| and |zero|: one for the whole
 * tensor. |type| of the quantized tensor, which is not told where there is no zero point. */
bool xp_read_quant(const xp_graph *g, uint32_t scale, uint32_t zero, uint32_t type, xp_quant *out);
/* Is |value| from a DequantizeLinear of this graph? The node; SIZE_MAX: no. */
size_t xp_dequantizer(const xp_graph *g, uint32_t value);
/* Is it a float constant, or dequantized from constants for this reader alone? */
bool xp_is_weights(const xp_graph *g, uint32_t value);

/* Window attributes of Conv, ConvTranspose, pools, for |kernel|, the spatial dimensions of the weights (NULL: in the
 * attributes), of which there are |n|, 1 or 2. NULL, or why the library cannot. */
const char *xp_read_window(const xp_graph *g, size_t node, const int64_t *kernel, int n, bool transposed,
                           xp_window *out);
/* Bounds of Relu and Clip. NULL, or why not. */
const char *xp_read_bounds(const xp_graph *g, size_t node, float *lo, float *hi);

#endif
