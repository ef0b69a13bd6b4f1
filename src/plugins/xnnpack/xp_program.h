/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_program.h - a compiled part: tensors, and the steps that compute them, in order.
 *
 * Everything that depends on shapes (sizes, offsets in memory, operators without weights) is kept in a context. A run
 * takes a free context or creates one, so concurrent runs have one each. Operators with weights belong to no context:
 * they are shared by all contexts and all programs of the process (xp_weights.h). */
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
  bool guarded;        /* an input read by the library, which may read up to XNN_EXTRA_BYTES beyond its end */
  uint32_t index;      /* number of the part's input or output */
  uint32_t made, used; /* the step that computes it, the last step that uses it */
  const void *data;    /* constants only */
  xp_dims dims;        /* constants only */
} xp_tensor;

/* One call of a step. Dimensions are in ONNX order; the tensor says which layout the memory has. */
typedef struct xp_call {
  const ox_ep *ep;
  const xp_tensor *const *in_tensor;
  const xp_dims *const *in_dims;
  const xp_dims *out_dims;
  const void *const *in;
  void *out;
  void *room; /* workspace of the library's operator */
} xp_call;

typedef struct xp_step xp_step;
typedef struct xp_calls xp_calls; /* xp_library.h */

typedef struct xp_kind {
  /* Infers the output's shape: NULL, or a text that says why there is none. */
  const char *(*shape)(const xp_step *s, const xp_dims *const *in, xp_dims *out);
  const xp_calls *lib; /* the library's operator; NULL: |run| does it */
  void (*run)(const xp_step *s, const xp_call *c);
  /* Replaces the operator where the input is empty but the output is not. NULL: the operator handles that itself. */
  void (*run_empty)(const xp_step *s, const xp_call *c);
  bool in_place; /* the output may overwrite an input of the same shape that is not read afterwards */
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
  uint32_t *in;             /* indices of tensors */
  struct xp_shared *shared; /* NULL: no weights */
  /* Attributes of the node; each kind uses some of them. */
  xp_window window;
  float lo, hi;         /* bounds of the output */
  float number;         /* alpha, slope, or the value of a pad */
  const float *numbers; /* slopes, or the scales of a resize */
  const int64_t *parts; /* sizes of a Split; NULL: equal parts */
  xp_quant q_in[2], q_out;
  int32_t q_lo, q_hi;
  int which; /* selects among the operators of a kind */
  int axis;
  uint32_t flags;
  int64_t sizes[2 * XP_MOST_AXES]; /* pads, a permutation, a block, sizes of a resize */
  int64_t channels_in, channels_out;
  bool drop_columns;
};

typedef struct xp_context {
  struct xp_context *next;
  bool planned;
  xp_dims *in_dims; /* the input shapes it is planned for */
  xp_dims *dims;    /* of all tensors */
  size_t *size;     /* bytes of each tensor in |memory|; 0: it lies elsewhere */
  size_t *offset;
  void **at;                 /* address of each tensor in this run */
  xnn_operator_t *ops;       /* one per step; NULL: shared, or none */
  const xp_dims **step_dims; /* the inputs of the current step, with the next two */
  const xp_tensor **step_tensors;
  const void **step_in;
  char *memory; /* tensors, and from offset |room| on the workspace that all operators use in turn */
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
  xp_context *free; /* list of idle contexts, guarded by |lock| */
};

/* Plans |c| for inputs of |c->in_dims|: shapes, operators and memory. */
ox_status *xp_plan(ox_program *p, xp_context *c);
void xp_context_release(ox_program *p, xp_context *c);
size_t xp_context_bytes(const ox_program *p);
ox_status *xp_program_run(ox_program *p, const ox_io *io);
void xp_program_release(ox_program *p);

#endif
