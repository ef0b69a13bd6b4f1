/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_read.h - reading nodes: types, shapes, attributes, constants. Claim and compile share these functions, so
 * that they agree. */
#ifndef XP_READ_H
#define XP_READ_H

#include "plugins/reason/reason.h"
#include "xp_program.h"

typedef struct xp_graph {
  const ox_ep_host *h;
  const ox_graph_view *g;
  bool half; /* the library converts float16 on this machine */
} xp_graph;

/* |op|: an operator of ONNX, or one of com.microsoft with that domain and a dot as prefix. */
bool xp_is_op(const xp_graph *g, size_t node, const char *op);
uint32_t xp_in(const xp_graph *g, size_t node, size_t i); /* UINT32_MAX: omitted, or there are fewer inputs */
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
/* The type in which a value is computed: float32 or signed bytes; 0: the library has none for it. */
uint32_t xp_inner_type(const xp_graph *g, uint32_t value);
#define XP_NO_FLOAT REASON("float32, or float16 on a CPU that converts it", "{0}")
/* Unknown dimensions are -1; rank -1: unknown, or above XP_MOST_RANK. */
void xp_shape(const xp_graph *g, uint32_t value, xp_dims *out);
int xp_rank(const xp_graph *g, uint32_t value);

/* The value of a constant of one element, float32 or float16. */
bool xp_const_float(const xp_graph *g, uint32_t value, float *out);
/* Reads a constant of at most |most| integers (int64 or int32) and returns their number; -1: it is no such constant. */
int xp_const_ints(const xp_graph *g, uint32_t value, int64_t *out, int most);

/* The scale and zero point of a Quantize- or DequantizeLinear from its inputs |scale| and |zero|; false unless there is
 * one of each for the whole tensor. |type|: the quantized tensor's, which cannot be read off an omitted zero point. */
bool xp_read_quant(const xp_graph *g, uint32_t scale, uint32_t zero, uint32_t type, xp_quant *out);
/* The DequantizeLinear of this graph that makes |value|; SIZE_MAX: there is none. */
size_t xp_dequantizer(const xp_graph *g, uint32_t value);
/* Is it a float constant, or dequantized from constants and read only once? */
bool xp_is_weights(const xp_graph *g, uint32_t value);

/* The Transpose that makes the right factor of the MatMul |node|, nothing else reads, and moves its input's last axis to
 * the one before: it can be left out, or keep its rows together, if the product takes a factor of swapped axes.
 * SIZE_MAX: there is none. */
size_t xp_turner(const xp_graph *g, size_t node);

/* Window attributes of Conv, ConvTranspose and pools with |n| (1 or 2) spatial dimensions. |kernel|: those of the
 * weights, or NULL if the attribute kernel_shape has them. NULL, or why the library cannot run it. */
const char *xp_read_window(const xp_graph *g, size_t node, const int64_t *kernel, int n, bool transposed,
                           xp_window *out);
/* Bounds of Relu and Clip. NULL, or why the library cannot apply them. */
const char *xp_read_bounds(const xp_graph *g, size_t node, float *lo, float *hi);

#endif
