/* SPDX-License-Identifier: Apache-2.0
 * graph/shape.h - shapes, concrete or symbolic. Dimensions: >= 0 known, -1 unknown, < -1 a symbol. */
#ifndef OX_GRAPH_SHAPE_H
#define OX_GRAPH_SHAPE_H

#include <stdbool.h>

#include "base/status.h"
#include "onyx/ep.h"

ox_shape ox_shape_unknown(void);                      /* rank -1 */
ox_shape ox_shape_of(int rank, const int64_t *dims);  /* rank <= OX_MAX_RANK */
ox_shape ox_shape_scalar(void);
bool ox_shape_known(const ox_shape *s);               /* rank and every dimension */
bool ox_shape_equal(const ox_shape *a, const ox_shape *b);
/* Whether sizes and offsets of every part of such a tensor fit 64 bits: the product of the known dimensions, 0 counted
 * as 1, is below 2^57. Inference rejects larger tensors, also empty ones (ox_node_infer), so kernels may multiply
 * dimensions without checks. */
bool ox_shape_fits(const ox_shape *s);
/* Elements; -1 if not known or the product overflows. 1 for a scalar. */
int64_t ox_shape_count(const ox_shape *s);
/* Product of dims [from, to); -1 if not known. */
int64_t ox_shape_span(const ox_shape *s, int from, int to);
/* Arithmetic on dimensions that may be unknown or symbols; -1 when the result is not known. */
int64_t ox_dim_mul(int64_t a, int64_t b);
int64_t ox_dim_add(int64_t a, int64_t b);
/* Resolves a possibly negative axis: false if it is outside [-rank, rank). */
bool ox_axis_ok(int64_t axis, int rank, int *out_axis);
/* Splits dims around |axis| into outer x axis x inner. Error: INVALID_MODEL if the axis is out of range. */
OX_NODISCARD ox_status *ox_axis_split(const ox_shape *s, int64_t axis, int64_t *outer, int64_t *at, int64_t *inner);
/* Multidirectional broadcasting (ONNX Broadcasting.md). Symbols: equal ones stay, against 1 the other wins.
 * Error: SHAPE_MISMATCH naming both shapes. */
OX_NODISCARD ox_status *ox_shape_broadcast(const ox_shape *a, const ox_shape *b, ox_shape *out);
/* Row-major strides in elements. */
void ox_shape_strides(const ox_shape *s, int64_t *strides);
/* "[2,3,?]" into buf; returns buf. Symbols print as s0, s1 ... */
enum { OX_SHAPE_TEXT = OX_MAX_RANK * 22 + 8 };
const char *ox_shape_text(const ox_shape *s, char *buf);

/* A tensor view over |data|; bytes follow from dtype and shape (both must be known and sane). */
ox_tensor ox_tensor_view(uint32_t dtype, const ox_shape *shape, void *data);

/* [N, C, spatial ...] as [N, spatial ..., C], and back; a shape of rank below 3, or unknown, as it is. */
ox_shape ox_shape_channels_last(const ox_shape *s);
ox_shape ox_shape_channels_first(const ox_shape *s);

#endif
