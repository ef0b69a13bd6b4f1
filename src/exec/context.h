/* SPDX-License-Identifier: Apache-2.0
 * exec/context.h - a plan prepared for one signature of input shapes, with the memory to run it. One run at a time
 * borrows a context; sessions keep idle ones (session/session.c). */
#ifndef OX_EXEC_CONTEXT_H
#define OX_EXEC_CONTEXT_H

#include "exec/dynpool.h"
#include "exec/profile.h"
#include "plan/plan.h"

typedef struct ox_context ox_context;
typedef struct ox_step ox_step;

/* Where the bytes of a value live. */
typedef enum ox_home {
  OX_HOME_NONE,    /* never computed */
  OX_HOME_CONST,   /* constant of the model */
  OX_HOME_KNOWN,   /* computed when the context was made */
  OX_HOME_BOUND,   /* graph input or value of the enclosing graph: bound at each run */
  OX_HOME_SLAB,
  OX_HOME_OUTPUT,  /* written straight into the caller's output */
  OX_HOME_DYNAMIC, /* dynpool, or set by the kernel (sequences) */
} ox_home;

typedef struct ox_slot {
  ox_tensor t;
  ox_home home;
  ox_id root;     /* the value whose storage this one shares (views, in place); itself if none */
  uint32_t last;  /* last step that reads it; root: or any value that shares it */
  size_t offset;  /* SLAB roots */
  bool known;     /* content known while the context is made */
} ox_slot;

typedef enum ox_mode { OX_MODE_DONE, OX_MODE_VIEW, OX_MODE_STATIC, OX_MODE_DYNAMIC, OX_MODE_CONTROL } ox_mode;

struct ox_frame {
  ox_context *context;
  ox_step *step;
};

struct ox_step {
  const ox_unit *unit;
  ox_mode mode;
  ox_kernel_ctx c;
  ox_frame frame;
  ox_arena prep;          /* ox_ctx_alloc; reset when a dynamic step is prepared again */
  const ox_type **types;  /* dynamic: per input, pointing into type_values */
  ox_type *type_values;   /* n_in + n_out */
  ox_id *frees;           /* dynamic roots that die after this step */
  uint32_t n_frees;
  struct ox_control *control; /* exec/bodies.h */
};

/* What the whole process of one top-level run shares with its bodies. */
typedef struct ox_run_env {
  ox_alloc alloc;
  ox_pool *pool;
  uint32_t max_threads;        /* of the pool that a run may use, at least 1: also the number of scratch areas */
  ox_arena *run_arena;         /* ox_ctx_run_alloc: reset when the next top-level run starts */
  const volatile int *cancel;  /* NULL: never */
  int64_t deadline_ns;         /* CLOCK_MONOTONIC; 0: none */
  size_t max_workspace;        /* bytes of one context's slab; 0: no limit */
  ox_profile *profile;         /* NULL: off */
  uint32_t depth;              /* nesting of bodies */
} ox_run_env;

struct ox_context {
  const ox_plan *plan;
  ox_run_env *env;
  ox_arena arena;
  ox_slot *slots;
  ox_step *steps;
  uint32_t n_steps;
  ox_type *key;     /* types of graph inputs, then of outer values: what this context was made for */
  uint32_t n_key;
  char *slab;
  size_t slab_bytes, values_bytes;
  char *shared;     /* of the running step */
  char *scratch;
  size_t scratch_bytes; /* per worker */
  size_t pads[2];
  ox_dynpool dyn;
};

/* Where a run's outputs go. tensor: called before the run for outputs whose shape is known, else after it; gives memory
 * of |bytes|. other: called after the run for sequences, maps, optionals and string tensors, which are to be copied. */
typedef struct ox_run_sink {
  ox_status *(*tensor)(struct ox_run_sink *s, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes, void **out_data);
  ox_status *(*other)(struct ox_run_sink *s, uint32_t index, const ox_tensor *t);
} ox_run_sink;

/* The values of |g| that a run binds: inputs without constant content, then outer stand-ins. Writes up to |max| ids,
 * returns their number. */
uint32_t ox_context_bound(const ox_plan *p, ox_id *out, uint32_t max);

/* Prepares |p| for inputs of the types |key| (in the order of ox_context_bound; unknown dimensions are allowed and make
 * what depends on them dynamic). |known| (may be NULL): contents of bound values that never change. |direct|: outputs
 * are written into the sink's memory. */
OX_NODISCARD ox_status *ox_context_create(const ox_plan *p, ox_run_env *env, const ox_type *key, const ox_tensor *const *known,
                                          bool direct, ox_context **out_context);
void ox_context_destroy(ox_context *c);
bool ox_context_fits(const ox_context *c, const ox_type *key, uint32_t n_key);

/* One run. |bound|: tensors in the order of ox_context_bound. |sink| NULL: outputs stay in the context
 * (ox_context_output) until its next run. */
OX_NODISCARD ox_status *ox_context_run(ox_context *c, ox_run_env *env, const ox_tensor *const *bound, ox_run_sink *sink);
const ox_tensor *ox_context_output(const ox_context *c, uint32_t index);

/* Shared by context.c and run.c. */
extern const ox_ctx_host ox_context_host;
OX_NODISCARD ox_status *ox_step_run(ox_context *c, ox_step *s, bool on_pool, char *scratch);
/* Infers and, if shapes are known, fills the output slots' dtype, shape and bytes. */
OX_NODISCARD ox_status *ox_step_infer(ox_context *c, ox_step *s, bool at_run);
bool ox_tensor_size(ox_tensor *t); /* sets bytes from dtype and shape; false: not known or too large */

#endif
