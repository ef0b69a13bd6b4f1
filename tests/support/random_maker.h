/* SPDX-License-Identifier: Apache-2.0
 * support/random_maker.h - what the steps of a random model share: draws, the text so far, the values so far. */
#ifndef OX_TESTS_RANDOM_MAKER_H
#define OX_TESTS_RANDOM_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/random_graph.h"

/* No constant has more elements than MAKER_CONSTANT, but those of recurrent networks, which have twice as many. From
 * MAKER_DRAWN on no more steps are made. */
/* Behind MAKER_BODY_VALUES no body begins, as there has to be room for what is in it. */
enum { MAKER_VALUES = 128, MAKER_BODY_VALUES = 48, MAKER_RANK = 6, MAKER_CONSTANT = 1000, MAKER_DRAWN = 2000 };

typedef struct {
  int rank;
  int64_t dim[MAKER_RANK];
} maker_shape;

/* A value v0, v1, ... of the model. */
typedef struct {
  maker_shape shape;
  double size; /* about how large its elements are */
  bool used;
  bool hidden; /* in a body that has ended */
  float scale; /* of the bytes that it was, or 0 */
} maker_value;

typedef struct {
  char text[1 << 17];
  size_t n;
} maker_text;

typedef enum { MAKER_FLOATS, MAKER_HALVES, MAKER_BYTES } maker_kind;

/* Of weights: one for all or one for each output; none if they are floats. */
enum { MAKER_SCALES = 64 };
typedef struct {
  int n;
  float v[MAKER_SCALES];
} maker_scales;

/* How a value becomes bytes. */
typedef struct {
  const char *type;
  double size; /* of the value */
  maker_scales scale;
  int zero;
} maker_bytes;

typedef struct {
  uint32_t random;
  int opset;
  maker_kind kind;
  random_graph_form written;
  maker_bytes form; /* the latest */
  double quantum;   /* the largest step of a value in bytes */
  bool has_ties;    /* means of bytes, which lie in the middle of two all the time; biases that are rounded */
  double slack;     /* what a bias in floats is off by where it is added to bytes' products, at most */
  maker_text weights, nodes;
  maker_value value[MAKER_VALUES];
  int n_values, n_weights;
  int n_bodies;    /* numbers of names that are not v or w */
  int depth;       /* of the bodies that a step is in */
  int64_t n_drawn; /* elements of constants, whatever the form */
} maker;

/* A step adds nodes that read the value |x|; none if it has nothing to do with such a value. */
typedef void (*maker_step)(maker *m, int x);

/* random_graph_windows.c: convolutions, pools, Resize. */
void maker_conv(maker *m, int x);
void maker_conv_transpose(maker *m, int x);
void maker_pool(maker *m, int x);
void maker_global_pool(maker *m, int x);
void maker_resize(maker *m, int x);
/* random_graph_elements.c: what works on each element. */
void maker_activation(maker *m, int x);
void maker_prelu(maker *m, int x);
void maker_clip(maker *m, int x);
void maker_written_out(maker *m, int x);
void maker_binary(maker *m, int x);
void maker_batch_norm(maker *m, int x);
/* random_graph_moves.c: what only moves elements. */
void maker_concat(maker *m, int x);
void maker_split(maker *m, int x);
void maker_slice(maker *m, int x);
void maker_pad(maker *m, int x);
void maker_transpose(maker *m, int x);
void maker_reshape(maker *m, int x);
/* random_graph_places.c: what takes elements from, or puts them to, places that constants name. */
void maker_gather(maker *m, int x);
void maker_scatter(maker *m, int x);
void maker_where(maker *m, int x);
void maker_repeat(maker *m, int x);
void maker_depth(maker *m, int x);
/* random_graph_bodies.c: control flow, and sequences. */
void maker_if(maker *m, int x);
void maker_loop(maker *m, int x);
void maker_scan(maker *m, int x);
void maker_sequence(maker *m, int x);
/* random_graph_chains.c: networks and functions of several nodes, shapes that are computed. */
void maker_recurrent(maker *m, int x);
void maker_attention(maker *m, int x);
void maker_decoder(maker *m, int x);
void maker_norm_written_out(maker *m, int x);
void maker_shape_of(maker *m, int x);
void maker_einsum(maker *m, int x);
void maker_top(maker *m, int x);
/* random_graph_fused.c: what newer standards and com.microsoft have as one operator. */
void maker_fused(maker *m, int x);
void maker_qlinear_fused(maker *m, int x);
/* random_graph_bytes.c: in models of bytes. */
void maker_through_bytes(maker *m, int x);
void maker_dynamic(maker *m, int x);
void maker_qlinear(maker *m, int x);
/* What a value about as large as |size| is in bytes; now and then too small for it. */
maker_bytes maker_draw_bytes(maker *m, double size);
/* random_graph_sums.c: products, and what works along axes. */
void maker_matmul(maker *m, int x);
void maker_gemm(maker *m, int x);
void maker_softmax(maker *m, int x);
void maker_layer_norm(maker *m, int x);
void maker_reduce(maker *m, int x);
void maker_norm(maker *m, int x);
void maker_cumsum(maker *m, int x);

/* Any step. */
maker_step maker_draw_step(maker *m);
/* What numbers are written as: "float", or "float16". */
const char *maker_type(const maker *m);

/* 0 to n - 1. */
uint32_t maker_pick(maker *m, uint32_t n);
/* One of the numbers. */
#define MAKER_ONE_OF(m, ...) \
  (((const int[]){__VA_ARGS__})[maker_pick((m), sizeof((const int[]){__VA_ARGS__}) / sizeof(int))])
bool maker_chance(maker *m, int percent);

/* Appends to the nodes, as printf. */
void maker_put(maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends "name = [...]". */
void maker_put_list(maker *m, const char *name, const int64_t *v, int n);
/* Constants: the number i of the name w<i>. Floats are between |low| and |high|. */
int maker_floats(maker *m, maker_shape s, double low, double high);
int maker_float(maker *m, double v);
int maker_ints(maker *m, const int64_t *v, int n);
int maker_ints_of(maker *m, maker_shape s, const int64_t *v);
/* Of a type of integers (or bool), drawn from |low| to |high|. */
int maker_integers(maker *m, const char *type, maker_shape s, int low, int high);
/* -1, 0 or 1: what is rounded to bytes is written lower or nearer to 0, as it is, or higher or farther from 0. */
int maker_nudge(const maker *m);
/* 32-bit floats, also in a model of others. */
int maker_scale(maker *m, const maker_scales *s);
/* Those of a sum over |terms| products, which leaves its values as large as they were; |axis| is that of the outputs.
 * In models of bytes most are dequantized. */
int maker_sum_weights(maker *m, maker_shape s, int64_t terms, int axis, maker_scales *out_scales);
/* A bias in floats behind a product with such weights, which becomes a whole number of the scales' product. */
void maker_rounds_bias(maker *m, const maker_scales *weights);
/* What is added to |n| outputs of the value x and weights of these scales. */
int maker_bias(maker *m, int x, const maker_scales *weights, int64_t n);

/* The next value, which the caller's text gives a node: its number. Call it before that text is written. */
int maker_add(maker *m, maker_shape s, double size);
/* The shape of a value that a step reads. */
const maker_value *maker_use(maker *m, int x);
/* Whether a value of this shape, of |terms| products an element, is small enough to be made. */
bool maker_fits(const maker_shape *s, int64_t terms);
int64_t maker_count(const maker_shape *s);

#endif
