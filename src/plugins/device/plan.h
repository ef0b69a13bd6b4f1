/* SPDX-License-Identifier: Apache-2.0
 * device/plan.h - a part compiled for known shapes: its steps in order, and the memory of each value. Built once
 * (plan.c), then immutable; step.c enqueues it. */
#ifndef OX_DEVICE_PLAN_H
#define OX_DEVICE_PLAN_H

#include "plugins/device/part.h"

typedef enum dev_step_kind { DEV_STEP_LAUNCH, DEV_STEP_COPY, DEV_STEP_GEMM, DEV_STEP_CONV } dev_step_kind;

/* A step's buffers are references, resolved to addresses when it is enqueued. */
typedef struct dev_step {
  struct dev_step *next;
  dev_step_kind kind;
  size_t node; /* the node it belongs to, for errors */
  uint32_t n_buffers;
  dev_ref buffers[DEV_MAX_BUFFERS]; /* COPY: to, from. GEMM, CONV: DEV_CALL_BUFFERS */
  dev_launch launch;
  size_t copy_bytes;
  dev_gemm gemm;
  dev_conv conv;
} dev_step;

typedef enum dev_place_kind {
  DEV_PLACE_WORK,
  DEV_PLACE_INPUT,
  DEV_PLACE_OUTPUT,
  DEV_PLACE_CONSTANT,
  DEV_PLACE_HOST /* what the host computed: copied to the device when a step first reads it */
} dev_place_kind;

/* The memory of a value or temporary. */
typedef struct dev_place {
  dev_place_kind kind;
  uint32_t index;       /* INPUT, OUTPUT: number of the part's input or output */
  uint32_t same;        /* the value that this one is a view of; its own id: none */
  size_t same_at;       /* byte offset of the view */
  size_t bytes, offset; /* WORK: offset in the stream's work memory */
  void *copy;           /* HOST: the plan's copy on the device; NULL: no step reads it */
  uint32_t first, last; /* the first and last step that use it; first > last: none */
} dev_place;

struct dev_plan {
  dev_part *part;
  ox_arena zone;              /* owns everything below */
  ox_shape *shapes;           /* per value */
  const ox_tensor **contents; /* per value: content that the host has computed or was given; NULL: none */
  dev_place *values;
  bool has_copies;
  dev_place *temps;
  size_t n_temps, temp_capacity;
  dev_step *steps, *last;
  uint32_t n_steps;
  size_t work_bytes;
  size_t node;    /* the node being emitted */
  uint8_t *taken; /* per node: fused into another one */
};

/* Builds a plan for these shapes and contents of the values of |part|. On failure everything is freed but the constants
 * that |part| has got. */
OX_NODISCARD ox_status *dev_plan_build(dev_part *part, const ox_shape *shapes, const ox_tensor *const *contents,
                                       dev_plan **out_plan);
void dev_plan_free(dev_plan *p); /* none of its steps may still be executing */

/* The address of |r| in a run with the inputs and outputs of |io|. */
char *dev_address(const dev_plan *p, dev_ref r, const ox_io *io, char *work);
/* Enqueues all steps on |q|. */
OX_NODISCARD ox_status *dev_plan_put(const dev_plan *p, dev_queue *q, const ox_io *io, char *work);
/* Prefixes |st| with "node 'x' (Conv): ". */
OX_NODISCARD ox_status *dev_plan_note(const dev_plan *p, size_t node, ox_status *st);

/* Prefixes |st| with the largest consumer of work memory. */
OX_NODISCARD ox_status *dev_plan_note_largest(const dev_plan *p, ox_status *st);

/* lifetimes.c: assigns offsets in work memory so that no two places that are alive at the same time overlap. */
OX_NODISCARD ox_status *dev_lifetimes_assign(dev_plan *p);

#endif
