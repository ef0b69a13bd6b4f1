/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_program.h - a compiled part: tensors, and steps that make them in order.
 *
 * What of it depends on shapes - sizes, places in memory, operators without weights - is in a context. A run takes a
 * free context or makes one, so runs at the same time have one each. Operators with weights are in no context but
 * shared by all of them and by all programs of the process (xp_weights.h). */
#ifndef XP_PROGRAM_H
#define XP_PROGRAM_H

#include <pthread.h>

#include "xp_weights.h"
#include "xp.h"

typedef enum { XP_TEMP, XP_CONST, XP_INPUT, XP_OUTPUT } xp_place;

typedef struct xp_tensor {
  uint8_t type;        /* OX_F32, OX_I8, OX_U8; OX_F16 before and after conversion */
  uint8_t place;       /* xp_place */
  bool last;           /* channels last in memory */
  bool guarded;        /* an input that the library reads, so up to XNN_EXTRA_BYTES beyond its end */
  uint32_t index;      /* of the part's input or output */
  uint32_t made, used; /* the steps that make it and use it last */
  const void *data;    /* of a constant */
  xp_dims dims;        /* of a constant */
} xp_tensor;

/* One call of a step. Shapes are as in ONNX; their order in memory is the tensor's. */
typedef struct xp_call {
  const ox_ep *ep;
  const xp_tensor *const *in_tensor;
  const xp_dims *const *in_dims;
  const xp_dims *out_dims;
  const void *const *in;
  void *out;
  void *room; /* what the library's operator works on */
} xp_call;

typedef struct xp_step xp_step;
typedef struct xp_calls xp_calls; /* xp_library.h */

typedef struct xp_kind {
  /* The output's shape; a text that says why there is none, or NULL. */
  const char *(*shape)(const xp_step *s, const xp_dims *const *in, xp_dims *out);
  const xp_calls *lib; /* the library's operator; NULL: |run| does it */
  void (*run)(const xp_step *s, const xp_call *c);
  /* Instead of the operator where the input has no elements and the output has. NULL: the operator serves. */
  void (*run_empty)(const xp_step *s, const xp_call *c);
  bool in_place; /* the output may be where an input of the same shape is that nobody reads afterwards */
} xp_kind;

/* A scale and a zero point. */
typedef struct xp_quant {
  float scale;
  int32_t zero;
} xp_quant;

enum { XP_MOST_AXES = XP_MOST_RANK };

struct xp_step {
  const xp_kind *kind;
  const char *op, *name; /* of the node, for messages and profiles */
  uint32_t n_in, out;
  uint32_t *in;             /* tensors */
  struct xp_shared *shared; /* NULL: no weights */
  /* What kinds need of the node. */
  xp_window window;
  float lo, hi;         /* bounds of the output */
  float number;         /* alpha, slope, or the value of a pad */
  const float *numbers; /* slopes, or the scales of a resize */
  const int64_t *parts; /* of a Split; NULL: all the same */
  xp_quant q_in[2], q_out;
  int32_t q_lo, q_hi;
  int which; /* among the operators of a kind */
  int axis;
  uint32_t flags;
  int64_t sizes[2 * XP_MOST_AXES]; /* pads, a permutation, a block, sizes of a resize */
  int64_t channels_in, channels_out;
  bool drop_columns;
};

typedef struct xp_context {
  struct xp_context *next;
  bool planned;
  xp_dims *in_dims; /* that it is planned for */
  xp_dims *dims;    /* of all tensors */
  size_t *size;     /* of those in |memory|; 0: elsewhere */
  size_t *offset;
  void **at;           /* of all tensors, in this run */
  xnn_operator_t *ops; /* of steps; NULL: shared, or none */
  const xp_dims **step_dims; /* of the inputs of the step at hand, with the next two */
  const xp_tensor **step_tensors;
  const void **step_in;
  char *memory;        /* tensors, and from |room| on what the library's operators work on, one after the other */
  size_t memory_bytes, room;
} xp_context;

struct ox_program {
  ox_ep *ep;
  xp_arena arena;
  xp_tensor *tensors;
  xp_step *steps;
  uint32_t n_tensors, n_steps, n_in, n_out, most_in;
  uint32_t *out_tensor; /* of each output */
  int *in_rank;
  pthread_mutex_t lock;
  xp_context *free; /* contexts, under the lock */
};

/* Shapes, operators and memory for inputs of |c->in_dims|. */
ox_status *xp_plan(ox_program *p, xp_context *c);
void xp_context_release(ox_program *p, xp_context *c);
size_t xp_context_bytes(const ox_program *p);
ox_status *xp_program_run(ox_program *p, const ox_io *io);
void xp_program_release(ox_program *p);

#endif
