/* SPDX-License-Identifier: Apache-2.0
 * exec/bodies.h - operators with bodies: If, Loop, Scan, SequenceMap. A body is a plan of its own; its contexts are
 * kept per shape signature by the node that owns it. */
#ifndef OX_EXEC_BODIES_H
#define OX_EXEC_BODIES_H

#include "exec/context.h"

/* Contexts kept per body before one is made that takes any shape. */
enum { OX_BODY_CONTEXTS = 4, OX_MOST_DEPTH = 64 };

typedef struct ox_body {
  const ox_plan *plan;
  ox_id *bound;                /* ox_context_bound */
  uint32_t n_bound, n_inputs;  /* the first n_inputs of bound are graph inputs */
  const ox_tensor **known;     /* per bound: content that never changes, or NULL */
  const ox_tensor **args;      /* per bound: for the next run; the caller sets the first n_inputs */
  ox_type *key;
  ox_context *kept[OX_BODY_CONTEXTS];
  uint32_t n_kept;
  ox_context *generic;         /* for shapes that keep changing */
  ox_context *current;         /* of the last run: where its outputs are */
} ox_body;

typedef struct ox_control {
  ox_status *(*run)(ox_context *c, ox_step *s);
  ox_body *bodies;
  uint32_t n_bodies;
} ox_control;

OX_NODISCARD ox_status *ox_control_create(ox_context *c, ox_step *s);
OX_NODISCARD ox_status *ox_control_run(ox_context *c, ox_step *s);
void ox_control_destroy(ox_control *control); /* NULL is fine */

/* The body of the graph attribute |name|; NULL if the node has none. */
ox_body *ox_control_body(const ox_context *c, const ox_step *s, const char *name);
/* Runs |b| on b->args. Values of the enclosing graph are bound here. */
OX_NODISCARD ox_status *ox_body_run(ox_context *c, ox_body *b);
/* Output |i| of the last run; valid until the body runs again. */
static inline const ox_tensor *ox_body_output(const ox_body *b, uint32_t i) { return ox_context_output(b->current, i); }
/* The output's bytes belong to the body's own context (not to a value of the enclosing graph). */
bool ox_body_owns_output(const ox_body *b, uint32_t i);

/* Copies |from| into memory of |c| that lives until its value is freed; sequences are copied as they are (immutable). */
OX_NODISCARD ox_status *ox_control_copy(ox_context *c, const ox_tensor *from, ox_tensor *to);
/* Input |i| of the node, or NULL if omitted. */
const ox_tensor *ox_control_input(const ox_context *c, const ox_step *s, uint32_t i);
/* Slot of output |i|, or NULL if omitted. */
ox_tensor *ox_control_output(const ox_context *c, const ox_step *s, uint32_t i);

/* A growing stack of equal slices: scan outputs. */
typedef struct ox_stack {
  ox_tensor t;      /* data: n slices; shape: of one slice */
  size_t slice_bytes, capacity;
  int64_t n;
} ox_stack;

/* Appends a copy of |slice|, which must have the shape and type of those before. |expect|: slices to make room for. */
OX_NODISCARD ox_status *ox_stack_push(ox_context *c, ox_stack *k, const ox_tensor *slice, int64_t expect);
/* Moves the stack to output |i| with the count as axis 0; |body_output| tells type and shape when there is no slice. */
OX_NODISCARD ox_status *ox_stack_finish(ox_context *c, ox_step *s, uint32_t i, ox_stack *k, const ox_type *body_output);

ox_status *ox_if_run(ox_context *c, ox_step *s);
ox_status *ox_loop_run(ox_context *c, ox_step *s);
ox_status *ox_scan_run(ox_context *c, ox_step *s);
ox_status *ox_sequence_map_run(ox_context *c, ox_step *s);
ox_status *ox_flex_attention_run(ox_context *c, ox_step *s);

#endif
