/* SPDX-License-Identifier: Apache-2.0
 * graph/control.h - operators with bodies (ox_schema.control): what they do with them, in terms of a few services of
 * what runs them. If, Loop, Scan and their like are in src/ops; exec/bodies.c is the host. */
#ifndef OX_GRAPH_CONTROL_H
#define OX_GRAPH_CONTROL_H

#include "graph/op_def.h"

/* A body, as its operator sees it. */
typedef struct ox_body {
  const ox_graph *graph;
  uint32_t n_inputs;      /* that a run binds: all of the graph's but those with constant content */
  const ox_tensor **args; /* the operator sets these |n_inputs| before a run; read while it runs */
} ox_body;

typedef struct ox_control ox_control; /* the host's side of one node */

/* Where ox_ctx_run_alloc was when a loop began; filled by the host. */
typedef struct ox_run_mark {
  ox_arena_place place;
  size_t taken, of_run;
  size_t live; /* of what was taken since, when it was collected last */
} ox_run_mark;

/* The host's services while the node runs. */
typedef struct ox_control_host {
  ox_body *(*body)(ox_control *k,
                   const ox_graph *g); /* of an attribute; NULL: |g| is NULL or none of the node's bodies */
  ox_status *(*body_run)(ox_control *k, ox_body *b); /* on b->args; CANCELLED and LIMIT (depth) come from here, too */
  const ox_tensor *(*body_output)(const ox_body *b, uint32_t i); /* of its last run; until it runs again */
  bool (*body_owns)(const ox_body *b, uint32_t i); /* the output's bytes are the body's, not those of a value outside */
  /* |to| becomes a copy of the output, which is on a device, in a buffer there; *out_done false: it is in host memory.
   */
  ox_status *(*copy_there)(ox_control *k, const ox_body *b, uint32_t i, ox_tensor *to, bool *out_done);
  void *(*take)(ox_control *k, size_t bytes);      /* a buffer for a value of this run; NULL: out of memory */
  void (*give)(ox_control *k, void *p);            /* hands one back early; NULL is fine */
  /* Before the first iteration; and after each, with all that lives on of what was taken by ox_ctx_run_alloc since: strings
   * and sequences of |values| may move, the rest goes now or later. */
  void (*mark)(ox_control *k, ox_run_mark *mark);
  ox_status *(*collect)(ox_control *k, ox_run_mark *mark, ox_tensor *const *values, uint32_t n);
} ox_control_host;

typedef struct ox_control_ctx {
  const ox_kernel_ctx
      *node; /* inputs, outputs, attributes, ox_ctx_run_alloc; an output takes a buffer or a body's bytes */
  const ox_control_host *host;
  ox_control *control;
} ox_control_ctx;

/* Which values an iteration hands to the next: |n| consecutive ones in each of these lists, from that index on. */
typedef struct ox_carried_values {
  uint32_t n, node_in, body_in, body_out, node_out;
} ox_carried_values;

typedef struct ox_control_def {
  /* At load: the types that are certain for a body's inputs, given those of the node's, |in|. |types| are preset to
   * unknown. NULL: nothing is certain. */
  void (*enter)(const ox_type *const *in, uint32_t n_in, uint32_t op_version, uint32_t n_types, ox_type *types);
  /* A run of the node runs each body once at most. An error in one is no error of the model until the body runs. */
  bool branches;
  bool passes_on;   /* it never reads the data that bodies read or make, so outputs of a body may lie on a device */
  /* Which values |n| carries; false: none. NULL: the operator does not iterate, or changes values in between. */
  bool (*carried)(const ox_node *n, ox_carried_values *c);
  /* Body input |i| of |n|'s is a slice of node input |*node_in| along |*axis|, another one in each iteration. NULL: none is. */
  bool (*sliced)(const ox_node *n, uint32_t i, uint32_t *node_in, int64_t *axis);
  /* |v| is sliced, too, as body input |like| is; |*out_arg| is what the body gets. NULL where |sliced| is. */
  ox_status *(*slice_also)(ox_graph *g, ox_id node, uint32_t like, ox_id v, ox_id *out_arg);
  int64_t (*trips)(const ox_graph *g, const ox_node *n); /* iterations at most; -1 or NULL: not known */
  ox_status *(*run)(const ox_control_ctx *c);
} ox_control_def;

/* ---- short names for the services ---- */
static inline const ox_tensor *ox_control_in(const ox_control_ctx *c, uint32_t i) {
  return i < c->node->n_in ? c->node->in[i] : NULL;
}
static inline ox_tensor *ox_control_out(const ox_control_ctx *c, uint32_t i) {
  return i < c->node->n_out ? c->node->out[i] : NULL;
}
static inline ox_body *ox_control_body(const ox_control_ctx *c, const ox_graph *g) {
  return c->host->body(c->control, g);
}
static inline ox_status *ox_body_run(const ox_control_ctx *c, ox_body *b) { return c->host->body_run(c->control, b); }
static inline const ox_tensor *ox_body_output(const ox_control_ctx *c, const ox_body *b, uint32_t i) {
  return c->host->body_output(b, i);
}
/* Declared type of the body's output |i|. */
static inline const ox_type *ox_body_type(const ox_graph *g, uint32_t i) { return &g->values[g->outputs[i]].type; }
/* Zeroed, until the run's outputs are handed over; NULL: out of memory or too large. */
void *ox_control_array(const ox_control_ctx *c, size_t n, size_t item_bytes);

/* ---- values ---- */
/* Sets bytes from type and shape; false: not known or too large. */
bool ox_control_size(ox_tensor *t);
/* |t|, of known type and shape, gets a buffer. Errors: LIMIT, OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_control_room(const ox_control_ctx *c, ox_tensor *t);
/* |to| becomes a copy in a buffer of its own; sequences are shared, for they never change. */
OX_NODISCARD ox_status *ox_control_copy(const ox_control_ctx *c, const ox_tensor *from, ox_tensor *to);
/* Gives back the buffer of a copy. */
void ox_control_drop(const ox_control_ctx *c, const ox_tensor *t);

/* |n| elements of |dtype| from element |from| of |src| to element |to| of |dst|; packed ones may lie anywhere in a
 * byte, and those around them stay as they are. */
void ox_control_move(uint32_t dtype, void *dst, int64_t to, const void *src, int64_t from, int64_t n);

/* A growing stack of equal slices: scan outputs. */
typedef struct ox_stack {
  ox_tensor t;     /* data: n slices, packed one behind the other; shape: of one slice */
  int64_t slice_n; /* elements of a slice */
  size_t capacity; /* bytes */
  int64_t n;
} ox_stack;

/* Appends a copy of |slice|, which must have the shape and type of those before. |most|: slices there will be, or fewer
 * (at least this one). */
OX_NODISCARD ox_status *ox_stack_push(const ox_control_ctx *c, ox_stack *k, const ox_tensor *slice, int64_t most);
/* Moves the stack to output |i| with the count as axis 0; |body_output| tells type and shape when there is no slice. */
OX_NODISCARD ox_status *ox_stack_finish(const ox_control_ctx *c, uint32_t i, ox_stack *k, const ox_type *body_output);

/* ---- what iterations leave ---- */

/* What survives an iteration of a loop: values and slices. */
typedef struct ox_survivors {
  ox_run_mark mark;
  ox_tensor **values; /* then a view per stack */
  const ox_stack *stacks;
  uint32_t n_values, n_stacks;
} ox_survivors;

/* Before the first iteration, when everything else is allocated. */
OX_NODISCARD ox_status *ox_survivors_init(const ox_control_ctx *c, ox_survivors *v, ox_tensor *values, uint32_t n_values,
                                          const ox_stack *stacks, uint32_t n_stacks);
/* After each. */
OX_NODISCARD ox_status *ox_survivors_keep(const ox_control_ctx *c, ox_survivors *v);

#endif
