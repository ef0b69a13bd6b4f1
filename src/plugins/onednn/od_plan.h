/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_plan.h - a part of the graph for one signature of input shapes: primitives in a row, and where the
 * memory is that they read and write. A plan is fixed once it is built; what a run needs of its own is a context. */
#ifndef OD_PLAN_H
#define OD_PLAN_H

#include <pthread.h>

#include "onednn.h"

enum { OD_MOST_ARGS = 24 };

typedef enum od_place { OD_INPUT, OD_OUTPUT, OD_ARENA, OD_FIXED } od_place;

/* A block of memory. */
typedef struct od_buf {
  od_place place;
  uint32_t index;       /* of the input or output of the part */
  uint32_t first, last; /* steps that use it; OD_ARENA */
  uint32_t n_values;    /* that lie in it */
  size_t bytes, offset; /* in the arena */
  void *fixed;          /* a constant of the program */
} od_buf;

/* A block seen as a tensor. */
typedef struct od_mem {
  dnnl_memory_desc_t md;
  uint32_t buf;
} od_mem;

typedef struct od_arg {
  int id;
  uint32_t mem;
} od_arg;

/* What the plug-in computes itself: arg[0] of arg[1], arg[2], which lie alike and without gaps. */
typedef enum od_own { OD_FILL, OD_QUANTIZE, OD_DEQUANTIZE, OD_ADD, OD_ERF } od_own;

typedef struct od_step {
  dnnl_primitive_t prim; /* NULL: |own| */
  size_t node;
  const char *name, *impl; /* of the node; of the library */
  bool together;           /* members of its regions wait for each other (od_openmp.c) */
  od_own own;
  float fill; /* for all elements, of float32 */
  od_loops_job job;
  uint32_t n_args;
  od_arg arg[OD_MOST_ARGS];
} od_step;

struct od_context;

typedef struct od_plan {
  struct od_plan *next; /* used before this one */
  uint32_t users;       /* runs, and 1 while it is in the cache */
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

/* A constant in the form that primitives want, shared by all plans. */
typedef struct od_fixed {
  struct od_fixed *next;
  uint32_t value;
  uint64_t tag; /* what was done to it */
  dnnl_memory_desc_t md;
  void *data;
} od_fixed;

struct ox_program {
  ox_ep *ep;
  const ox_graph_view *g;
  pthread_mutex_t lock; /* of all below */
  od_plan *plans;       /* the one used last comes first */
  size_t n_plans;
  od_fixed *fixed;
};

/* Builds the plan for inputs of these types and shapes; with |p->lock|. */
ox_status *od_plan_build(ox_program *p, const ox_tensor *const *in, od_plan **out_plan);
void od_plan_release(ox_ep *ep, od_plan *plan); /* NULL is fine */
/* Gives each block of the arena its place: those that are needed at the same time do not overlap. */
ox_status *od_arena_lay(ox_ep *ep, od_plan *plan);

/* Memory and arguments of one run. */
typedef struct od_context {
  struct od_context *next;
  char *arena;
  dnnl_memory_t *mems;   /* one for each of the plan's */
  dnnl_exec_arg_t *args; /* of all steps */
} od_context;

ox_status *od_context_create(ox_ep *ep, const od_plan *plan, od_context **out_context);
void od_context_release(ox_ep *ep, const od_plan *plan, od_context *c);
/* A step without a primitive: |at| has where the arguments are. */
ox_status *od_own_run(ox_ep *ep, const od_plan *plan, const od_step *s, void *const *at);
ox_status *od_context_run(ox_ep *ep, const od_plan *plan, od_context *c, const ox_io *io);

#endif
