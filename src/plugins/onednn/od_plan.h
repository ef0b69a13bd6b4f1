/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_plan.h - a part of the graph compiled for one signature of input shapes: a sequence of primitives
 * and the memory they read and write. A plan is immutable once built; the state of a run is in a context. */
#ifndef OD_PLAN_H
#define OD_PLAN_H

#include <pthread.h>

#include "onednn.h"

enum { OD_MOST_ARGS = 24 };

typedef enum od_place { OD_INPUT, OD_OUTPUT, OD_ARENA, OD_FIXED } od_place;

/* A block of memory. */
typedef struct od_buf {
  od_place place;
  uint32_t index;       /* OD_INPUT, OD_OUTPUT: number of the part's input or output */
  uint32_t first, last; /* OD_ARENA: the first and last step that use it */
  uint32_t n_values;    /* number of values that lie in it */
  size_t bytes, offset; /* OD_ARENA: offset in the arena */
  void *fixed;          /* OD_FIXED: a constant of the program */
} od_buf;

/* A block seen as a tensor. */
typedef struct od_mem {
  dnnl_memory_desc_t md;
  uint32_t buf;
  size_t offset; /* in the block, in bytes */
} od_mem;

typedef struct od_arg {
  int id;
  uint32_t mem;
} od_arg;

/* Steps that the plug-in computes itself: arg[0] from arg[1] and arg[2], all dense and of one layout. */
typedef enum od_own { OD_FILL, OD_QUANTIZE, OD_DEQUANTIZE, OD_ADD, OD_ERF } od_own;

typedef struct od_step {
  dnnl_primitive_t prim; /* NULL: the step is |own| */
  size_t node;
  const char *name, *kind, *impl; /* names of the node, of the kind of primitive (NULL: |own|), of its implementation */
  bool together;                  /* its threads wait for each other, so they need a team (od_openmp.c) */
  bool fixed;                     /* how it divides its work must not depend on threads (od_shares.h) */
  uint32_t beside;                /* the number of steps after this one that run at the same time */
  od_own own;
  float fill; /* OD_FILL: the value of all elements, which are float32 */
  od_loops_job job;
  uint32_t n_args;
  od_arg arg[OD_MOST_ARGS];
} od_step;

struct od_context;

typedef struct od_plan {
  struct od_plan *next; /* the cache is a list, most recently used first */
  uint32_t users;       /* references: one per run, and one while it is in the cache */
  size_t n_in, n_out;
  ox_shape *in, *out;
  uint32_t *in_type;
  od_buf *bufs;
  od_mem *mems;
  od_step *steps;
  size_t n_bufs, n_mems, n_steps, cap_bufs, cap_mems, cap_steps;
  size_t arena_bytes;
  struct od_context *idle;
} od_plan;

/* A constant in the layout that primitives want, shared by all plans. */
typedef struct od_fixed {
  struct od_fixed *next;
  uint32_t value;
  uint64_t tag; /* distinguishes transformations of the same constant */
  dnnl_memory_desc_t md;
  void *data;
} od_fixed;

struct ox_program {
  ox_ep *ep;
  const ox_graph_view *g;
  pthread_mutex_t lock; /* guards everything below */
  od_plan *plans;       /* most recently used first */
  size_t n_plans;
  od_fixed *fixed;
};

/* Builds the plan for inputs of these types and shapes; the caller holds |p->lock|. */
ox_status *od_plan_build(ox_program *p, const ox_tensor *const *in, od_plan **out_plan);
void od_plan_release(ox_ep *ep, od_plan *plan); /* NULL is fine */
/* Assigns offsets to the blocks of the arena so that blocks needed at the same time do not overlap. */
ox_status *od_arena_lay(ox_ep *ep, od_plan *plan);

/* Memory and arguments of one run. */
typedef struct od_context {
  struct od_context *next;
  char *arena;
  dnnl_memory_t *mems;   /* one for each of the plan's mems */
  dnnl_exec_arg_t *args; /* of all steps */
} od_context;

ox_status *od_context_create(ox_ep *ep, const od_plan *plan, od_context **out_context);
void od_context_release(ox_ep *ep, const od_plan *plan, od_context *c);
/* Runs a step without a primitive; |at| has the addresses of its arguments. */
ox_status *od_own_run(ox_ep *ep, const od_plan *plan, const od_step *s, void *const *at);
ox_status *od_context_run(ox_ep *ep, const od_plan *plan, od_context *c, const ox_io *io);

#endif
