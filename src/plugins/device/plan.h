/* SPDX-License-Identifier: Apache-2.0
 * device/plan.h - a part for known shapes: its steps in order, and where each value lies. Built once (plan.c), then
 * read only; step.c puts it on a queue. */
#ifndef OX_DEVICE_PLAN_H
#define OX_DEVICE_PLAN_H

#include "plugins/device/part.h"

typedef enum dev_step_kind { DEV_STEP_LAUNCH, DEV_STEP_COPY, DEV_STEP_GEMM, DEV_STEP_CONV } dev_step_kind;

/* A step's buffers are refs; their addresses are looked up when it is put on a queue. */
typedef struct dev_step {
  struct dev_step *next;
  dev_step_kind kind;
  size_t node; /* that it is of, for errors */
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

/* Where a value, or a temporary, lies. */
typedef struct dev_place {
  dev_place_kind kind;
  uint32_t index;       /* of the input or output */
  uint32_t same;        /* a value that has these bytes; its own id: none */
  size_t same_at;       /* where in it they begin */
  size_t bytes, offset; /* WORK: in the stream's memory */
  void *copy;           /* HOST: the plan's own; NULL: no step reads it */
  uint32_t first, last; /* steps that touch it; first > last: none */
} dev_place;

struct dev_plan {
  dev_part *part;
  ox_arena zone;    /* all of this */
  ox_shape *shapes; /* per value */
  const ox_tensor **contents; /* per value: what the host computed, or has of an input; NULL: nothing */
  dev_place *values;
  bool has_copies;
  dev_place *temps;
  size_t n_temps, temp_capacity;
  dev_step *steps, *last;
  uint32_t n_steps;
  size_t work_bytes;
  size_t node;    /* while it is emitted */
  uint8_t *taken; /* per node: computed with another's output */
};

/* For these shapes and contents of the values of |part|. On failure nothing is left but what |part| has of constants.
 */
OX_NODISCARD ox_status *dev_plan_build(dev_part *part, const ox_shape *shapes, const ox_tensor *const *contents,
                                       dev_plan **out_plan);
void dev_plan_free(dev_plan *p); /* no step of it is on its way */

/* The address of |r| in a run: |in| and |out| per input and output of the part. */
char *dev_address(const dev_plan *p, dev_ref r, const ox_io *io, char *work);
/* Puts all steps on |q|. */
OX_NODISCARD ox_status *dev_plan_put(const dev_plan *p, dev_queue *q, const ox_io *io, char *work);
/* "node 'x' (Conv): " before the text. */
OX_NODISCARD ox_status *dev_plan_note(const dev_plan *p, size_t node, ox_status *st);

/* What takes most of the stream's memory, before the text. */
OX_NODISCARD ox_status *dev_plan_note_largest(const dev_plan *p, ox_status *st);

/* lifetimes.c: offsets of what lies in the stream's memory, so that no two that live at a time overlap. */
OX_NODISCARD ox_status *dev_lifetimes_assign(dev_plan *p);

#endif
