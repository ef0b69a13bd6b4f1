/* SPDX-License-Identifier: Apache-2.0
 * exec/step.h - one node at work: infer, find memory, prepare; step_run.h: run. Contexts are lists of steps, constant
 * folding is a single one; where their memory comes from is the caller's. */
#ifndef OX_EXEC_STEP_H
#define OX_EXEC_STEP_H

#include "exec/crew.h"
#include "plan/unit.h"

typedef struct ox_step ox_step;

typedef enum ox_mode {
  OX_MODE_DONE,    /* computed when the context was made */
  OX_MODE_VIEW,    /* a pointer */
  OX_MODE_STATIC,  /* shapes are known, memory is planned, the kernel is prepared */
  OX_MODE_DYNAMIC, /* a shape, or what a shape depends on, is known to the run only */
  OX_MODE_CONTROL  /* through bodies */
} ox_mode;

/* Where a step's memory comes from. */
typedef struct ox_step_memory {
  /* For output |i|, which will be like |t|, until its value is no longer needed; NULL: out of memory. */
  void *(*output)(struct ox_step *s, uint32_t i, const ox_tensor *t);
  /* Characters of strings, items of sequences: until the results of the run are handed over. */
  void *(*run)(struct ox_step *s, size_t bytes);
  /* ox_ctx_host.extend_run; NULL: always a new array. */
  void *(*extend)(struct ox_step *s, const void *p, size_t used, size_t more);
} ox_step_memory;

struct ox_frame {
  ox_step *step;
};

struct ox_step {
  const ox_graph *graph;
  const ox_unit *unit;
  const ox_node *node;
  ox_mode mode;
  ox_kernel_ctx c;        /* inputs and outputs, also of programs, copies, views, control */
  ox_frame frame;
  ox_arena *prep;         /* ox_ctx_alloc: of who prepares it but once, or |own|, reset when it is prepared again */
  ox_arena own;
  struct ox_late *late;   /* exec/pack.h: what its runs are to pack, in |prep| */
  ox_arena infer;         /* what inference makes in a run; reset by the next one */
  const ox_type **types;  /* per input, pointing into type_values */
  ox_type *type_values;   /* n_in + n_out */
  const ox_tensor **data; /* per input: content that inference may read */
  const ox_tensor **made; /* per output of a program: content that inference found; else NULL */
  const ox_step_memory *memory;
  const ox_step_crew *crew;
  void *owner;            /* of |memory|'s functions */
  /* context.c */
  char *scratch;              /* the context's, or its own in a stretch */
  struct ox_stretch *stretch; /* exec/stretch.h; NULL: none */
  ox_id *frees;               /* dynamic roots that die after this step */
  uint32_t n_frees;
  struct ox_control *control; /* exec/bodies.h */
  void *event;                /* done when this step's outputs are; NULL: they are when it returns */
  struct ox_step **waits;     /* steps whose events are to be waited for before this one */
  uint32_t n_waits;
};

/* A step of |u|, a node of |g|, on |in| and |out| (n_in and n_out pointers in |a|; NULL: omitted). */
OX_NODISCARD ox_status *ox_step_init(ox_step *s, const ox_graph *g, const ox_unit *u, const ox_tensor **in,
                                     ox_tensor **out, ox_arena *a);
void ox_step_deinit(ox_step *s);

/* Types of the outputs from those of the inputs, and from the content of input i where content[i] says so; sizes where
 * shapes are known. What follows from it lives in |a|. */
OX_NODISCARD ox_status *ox_step_infer(ox_step *s, const bool *content, ox_arena *a);
/* After a run: outputs have the element types that inference said; items of sequences may be others. */
OX_NODISCARD ox_status *ox_step_check_outputs(const ox_step *s);
/* Memory for outputs of known shape that have none. */
OX_NODISCARD ox_status *ox_step_find_memory(ox_step *s);
/* Asks the kernel for stages, tiles and scratch. If all outputs turn out to have no elements there are no stages: a shape
 * like [2^40, 0] costs nothing. Not so if there are integers or strings to read, which may be wrong (indices). */
OX_NODISCARD ox_status *ox_step_prepare(ox_step *s);
/* With room to read beyond the end; 0 stays 0. */
size_t ox_step_rounded(size_t bytes);
/* Bytes that a prepared step has to itself if it runs beside others: shared ones, then scratch for one worker. */
size_t ox_step_area(const ox_step *s);
/* Of a prepared kernel, which has run if its step is dynamic; 0 if it does not say. */
double ox_step_flops(const ox_step *s);
/* Output |index| gets |shape|, and memory for it; what it has already stays. NULL: out of memory, no such output, or it
 * has another shape. */
void *ox_step_output(ox_step *s, uint32_t index, const ox_shape *shape);
/* A kernel's or a program's own event, if somebody profiles. */
void ox_step_event(ox_step *s, const char *name, int64_t start_ns, int64_t duration_ns);

bool ox_tensor_size(ox_tensor *t); /* sets bytes from dtype and shape; false: not known or too large */
/* A tensor whose shape is known. */
bool ox_tensor_shaped(const ox_tensor *t);

#endif
