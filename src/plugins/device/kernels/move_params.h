/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/move_params.h - data movement: copies, pads, gathers, scatters, choices, casts; read by the host and
 * by kernels. */
#ifndef OX_DEVICE_MOVE_PARAMS_H
#define OX_DEVICE_MOVE_PARAMS_H

enum { MOVE_DIMS = 8, MOVE_TILE = 32 };

/* Copies element (i0, i1 ...), innermost last, from |from| + sum(i * from_stride) to |to| + sum(i * to_stride). */
typedef struct {
  int n;
  int from, to;
  int size[MOVE_DIMS], from_stride[MOVE_DIMS], to_stride[MOVE_DIMS];
} move_params;

enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP };

/* Output (i0, i1 ...) is input (i - before); outside of the input |mode| applies. */
typedef struct {
  int n, mode;
  int size[MOVE_DIMS], in[MOVE_DIMS], in_stride[MOVE_DIMS], before[MOVE_DIMS];
  int low, high; /* the constant's bytes */
} pad_params;

/* Gathers [outer, many, inner] from [outer, axis, inner] by |many| indices. */
typedef struct {
  int n, wide; /* wide: indices of 64 bits, else 32 */
  int many, axis, inner;
} gather_params;

/* Indices of the shape |size|, each for one element of data with |stride|: the index replaces its coordinate on |axis|,
 * which has |axis_size| elements. */
typedef struct {
  int n, wide;
  int size[MOVE_DIMS], stride[MOVE_DIMS];
  int axis, axis_size;
} elements_params;

/* |n| / |inner| tuples of |k| indices, each for |inner| elements of data with the k + 1 axes size[0] ... size[k - 1],
 * inner. A batch has |batch_tuples| tuples and |batch_step| elements of data. */
typedef struct {
  int n, wide;
  int k, inner, batch_tuples, batch_step;
  int size[MOVE_DIMS];
} tuples_params;

/* Scatters with a reduction. lanes: number of indices divided by their number along the axis; tuples: their number. */
enum { SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX };
typedef struct {
  int op, lanes;
  elements_params of;
} scatter_elements_params;
typedef struct {
  int op, tuples;
  tuples_params of;
} scatter_nd_params;

/* Where, comparisons and logic. A stride of 0 broadcasts. */
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

/* The values of ox_dtype. */
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
