/* SPDX-License-Identifier: Apache-2.0
 * exec/context_state.h - a context: a plan prepared for one signature of input shapes, with the memory to run it. */
#ifndef OX_EXEC_CONTEXT_STATE_H
#define OX_EXEC_CONTEXT_STATE_H

#include <pthread.h>

#include "exec/device.h"
#include "exec/pack.h"
#include "exec/run_memory.h"
#include "exec/slabs.h"
#include "exec/step.h"
#include "exec/two_ways.h"

typedef struct ox_context ox_context;

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
  size_t shift;   /* bytes from where the root begins */
  size_t offset;  /* SLAB: in the slab */
  bool direct;    /* DYNAMIC roots: an output of the graph, so that its memory may be the caller's */
  uint32_t output;   /* |given|: the output of the graph that this run has memory of */
  const void *given; /* that memory; NULL: none in this run */
  uint32_t memory; /* plan/transfers.h; 0: the host's */
  bool known;     /* content known while the context is made */
  bool awaited;   /* some step waits for the one that makes it: exec/waits.h */
} ox_slot;

/* What the whole process of one top-level run shares with its bodies. */
typedef struct ox_run_env {
  ox_alloc alloc;
  ox_pool *pool;
  uint32_t max_threads;        /* of the pool that a run may use, at least 1: also the number of scratch areas */
  ox_run_memory *run_memory;   /* reset when the next top-level run starts */
  ox_watch *watch;             /* NULL: it is never stopped */
  size_t max_workspace;        /* the limit of the workspace of a context that is made; 0: none */
  ox_workspace *workspace;     /* of the top-level context; NULL while that is being made */
  ox_slabs *slabs;             /* that top-level contexts share; NULL: each keeps one of its own */
  ox_profile *profile;         /* NULL: off */
  uint32_t depth;              /* nesting of bodies */
  struct ox_placed *placed;    /* of the next top-level run, which takes it; NULL: all is on the host */
} ox_run_env;

/* exec/stretch.h: steps that can run apart. */
typedef struct ox_stretch {
  uint32_t first, last; /* both do something */
  ox_task_graph *graph;
} ox_stretch;

typedef struct ox_stretches {
  size_t *offsets[2]; /* per value in the slab: in the list's plan, and apart */
  bool apart;         /* where values lie now */
  int64_t began_ns;   /* this run; 0: its time says nothing */
  int64_t ended_ns;   /* the last run */
  ox_two_ways ways;   /* 0: the list, 1: apart; of runs that follow each other soon */
} ox_stretches;

struct ox_context {
  const ox_plan *plan;
  ox_run_env *env;
  ox_arena arena;
  ox_slot *slots;
  ox_step *steps;
  uint32_t n_steps;
  ox_type *key;     /* types of graph inputs, then of outer values: what this context was made for */
  uint32_t n_key;
  ox_id *bound; /* the values of |key| */
  ox_workspace own_workspace;
  ox_workspace *workspace; /* its own, or that of the context whose bodies it belongs to */
  ox_slabs *slabs;    /* NULL: it keeps its slab */
  ox_slab slab;       /* all that points into it does so until another one is taken, also while it has none */
  bool has_slab;
  size_t slab_bytes;  /* that it needs: values, |shared|, |scratch| */
  size_t values_bytes, shared_bytes;
  char *shared;     /* of the running step */
  char *scratch;
  size_t scratch_bytes; /* per worker */
  ox_dynpool dyn;
  ox_devices devices;
  ox_step_crew crew; /* of the run under way */
  ox_passing passing;
  struct ox_run_sink *sink; /* of the run under way; NULL: none */
  struct ox_placed *placed; /* exec/placed.h, of the run under way; NULL: all is on the host */
  ox_status *sink_status;   /* why it gave the step under way no memory */
  ox_stretches *stretches; /* NULL: none */
  bool in_stretch;   /* steps run on several threads: |lock| guards what they share */
  pthread_mutex_t lock;
};

/* Where a run's outputs go. tensor: called before the run for outputs whose shape is known, else in it or after it;
 * gives memory of |bytes|. other: called after the run for sequences, maps, optionals and string tensors, which are to
 * be copied. */
typedef struct ox_run_sink {
  ox_status *(*tensor)(struct ox_run_sink *s, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes, void **out_data);
  ox_status *(*other)(struct ox_run_sink *s, uint32_t index, const ox_tensor *t);
} ox_run_sink;

/* Adds to an error which unit failed and, if shapes do not fit, where they come from. OK passes through. */
OX_NODISCARD ox_status *ox_context_note(const ox_context *c, const ox_unit *u, ox_status *st);

/* Frees what neither this context nor the bodies that the run has entered use. */
void ox_context_trim(void *context);

/* The values of |g| that a run binds: inputs without constant content, then outer stand-ins. Writes up to |max| ids,
 * returns their number. */
uint32_t ox_context_bound(const ox_plan *p, ox_id *out, uint32_t max);

#endif
