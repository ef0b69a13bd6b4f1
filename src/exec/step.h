/* SPDX-License-Identifier: Apache-2.0
 * exec/step.h - one node at work: infer, find memory, prepare; step_run.h: run. A context is a list of steps; constant
 * folding is a single one. The caller says where their memory comes from. */
#ifndef OX_EXEC_STEP_H
#define OX_EXEC_STEP_H

#include "exec/crew.h"
#include "plan/plan_units.h"

typedef struct ox_step ox_step;

typedef enum ox_mode {
  OX_MODE_DONE,    /* computed when the context was made */
  OX_MODE_VIEW,    /* a pointer */
  OX_MODE_STATIC,  /* shapes are known, memory is planned, the kernel is prepared */
  OX_MODE_DYNAMIC, /* a shape, or what a shape depends on, is known only in the run */
  OX_MODE_CONTROL  /* through bodies */
} ox_mode;

/* Where a step's memory comes from. */
typedef struct ox_step_memory {
  /* Memory for output |i|, of |t|'s type and shape, until its value is no longer needed; NULL: out of memory. */
  void *(*output)(struct ox_step *s, uint32_t i, const ox_tensor *t);
  /* Memory for characters of strings and items of sequences, until the run's results are handed over. */
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
  ox_arena *prep;         /* ox_ctx_alloc: the context's, or |own|, reset when the step is prepared again */
  ox_arena own;
  struct ox_late *late;   /* exec/pack.h: what its runs are to pack, in |prep| */
  bool shaped;            /* DYNAMIC: the readers of output 0 were prepared for its shape */
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

/* Makes the step of |u|, a node of |g|, on |in| and |out| (n_in and n_out pointers in |a|; NULL: omitted). */
OX_NODISCARD ox_status *ox_step_init(ox_step *s, const ox_graph *g, const ox_unit *u, const ox_tensor **in,
                                     ox_tensor **out, ox_arena *a);
void ox_step_deinit(ox_step *s);

/* Infers the outputs' types from the inputs' types, and from the content of input i where content[i] is set; sets sizes
 * where shapes are known. What inference allocates lives in |a|. */
OX_NODISCARD ox_status *ox_step_infer(ox_step *s, const bool *content, ox_arena *a);
/* After a run: checks that outputs have the element types of inference; items of sequences may differ. */
OX_NODISCARD ox_status *ox_step_check_outputs(const ox_step *s);
/* Finds memory for outputs of known shape that have none. */
OX_NODISCARD ox_status *ox_step_find_memory(ox_step *s);
/* Asks the kernel for stages, tiles and scratch. If no output has an element there are no stages, so that a shape like
 * [2^40, 0] costs no time; unless inputs are integers or strings, which may be invalid (indices) and must be read. */
OX_NODISCARD ox_status *ox_step_prepare(ox_step *s);
/* |bytes| plus the room to read beyond the end, rounded; 0 stays 0. */
size_t ox_step_rounded(size_t bytes);
/* Bytes that a prepared step has to itself if it runs beside others: shared ones, then scratch for one worker. */
size_t ox_step_area(const ox_step *s);
/* The operations of a prepared kernel (of a dynamic step: after it has run); 0 if it does not say. */
double ox_step_flops(const ox_step *s);
/* Gives output |index| |shape| and memory, if it has none yet. NULL: out of memory, no such output, or it has another
 * shape. */
void *ox_step_output(ox_step *s, uint32_t index, const ox_shape *shape);
/* Adds a kernel's or a program's own event to the profile, if there is one. */
void ox_step_event(ox_step *s, const char *name, int64_t start_ns, int64_t duration_ns);

bool ox_tensor_size(ox_tensor *t); /* sets bytes from dtype and shape; false: unknown or too large */
/* Whether |t| is a tensor of known shape. */
bool ox_tensor_shaped(const ox_tensor *t);

#endif
