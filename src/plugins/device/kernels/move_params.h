/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/move_params.h - elements from places to places, read by the host and by kernels. */
#ifndef OX_DEVICE_MOVE_PARAMS_H
#define OX_DEVICE_MOVE_PARAMS_H

enum { MOVE_DIMS = 8, MOVE_TILE = 32 };

/* Element (i0, i1 ...), the innermost last, from |from| + the sum of i * from_stride to |to| + the sum of i *
 * to_stride. */
typedef struct {
  int n;
  int from, to;
  int size[MOVE_DIMS], from_stride[MOVE_DIMS], to_stride[MOVE_DIMS];
} move_params;

enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP };

/* Output (i0, i1 ...) is input i - before; outside of it, what |mode| says. */
typedef struct {
  int n, mode;
  int size[MOVE_DIMS], in[MOVE_DIMS], in_stride[MOVE_DIMS], before[MOVE_DIMS];
  int low, high; /* the constant's bytes */
} pad_params;

/* [outer, many, inner] from [outer, axis, inner], by |many| indices. */
typedef struct {
  int n, wide; /* wide: indices of 64 bits, else 32 */
  int many, axis, inner;
} gather_params;

/* Indices of the shape |size|, each for one element: of data with |stride|, whose axis |axis| of |axis_size| it
 * replaces. */
typedef struct {
  int n, wide;
  int size[MOVE_DIMS], stride[MOVE_DIMS];
  int axis, axis_size;
} elements_params;

/* |n| / inner tuples of |k| indices, each for |inner| elements of data that has k + 1 axes: size[0], ... size[k - 1],
 * inner; tuples of one batch are |batch_tuples|, and a batch of data |batch_step| elements. */
typedef struct {
  int n, wide;
  int k, inner, batch_tuples, batch_step;
  int size[MOVE_DIMS];
} tuples_params;

/* With a reduction. lanes: indices over those along the axis; tuples: of indices. */
enum { SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX };
typedef struct {
  int op, lanes;
  elements_params of;
} scatter_elements_params;
typedef struct {
  int op, tuples;
  tuples_params of;
} scatter_nd_params;

/* Where and comparisons: strides of 0 broadcast. */
typedef struct {
  int n, op;
  int size[MOVE_DIMS], a[MOVE_DIMS], b[MOVE_DIMS], c[MOVE_DIMS];
} choose_params;
enum {
  CHOOSE_EQUAL,
  CHOOSE_LESS,
  CHOOSE_LESS_OR_EQUAL,
  CHOOSE_GREATER,
  CHOOSE_GREATER_OR_EQUAL,
  CHOOSE_AND,
  CHOOSE_OR,
  CHOOSE_XOR,
  CHOOSE_NOT,
  CHOOSE_IS_NAN,
  CHOOSE_IS_INF,
  CHOOSE_IS_PLUS_INF,
  CHOOSE_IS_MINUS_INF,
  CHOOSE_NEVER
};

/* ox_dtype's numbers. */
enum {
  CAST_F32 = 1,
  CAST_U8 = 2,
  CAST_I8 = 3,
  CAST_U16 = 4,
  CAST_I16 = 5,
  CAST_I32 = 6,
  CAST_I64 = 7,
  CAST_BOOL = 9,
  CAST_F16 = 10,
  CAST_U32 = 12,
  CAST_U64 = 13
};
typedef struct {
  int n, from, to;
} cast_params;

#endif
