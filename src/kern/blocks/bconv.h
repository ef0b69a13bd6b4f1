/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv.h - float32 convolution between tensors in blocks of channels (docs/blocks.md).
 *
 * A form is one way to compute a convolution: direct, depthwise, Winograd. The forms are a table (bconv_forms.c); who
 * convolves asks for the cheapest that serves, packs the weights as that form wants them, plans for a shape and runs
 * tiles. What a form computes, and how it cuts it into tiles, depends on the task alone, never on threads. */
#ifndef OX_KERN_BLOCKS_BCONV_H
#define OX_KERN_BLOCKS_BCONV_H

#include <math.h>

#include "kern/blocks/blocks.h"
#include "base/tune.h"
#include "kern/conv/conv.h"

/* What is to be computed. X is [batch][blocks of groups * ic][in][16], or as ONNX has it where |x_plain|; Y is
 * [batch][blocks of groups * oc][out][16]. Lanes past the last channel of X may hold anything, NaN too: no result may
 * depend on them. Lanes past the last channel of Y may be left as they come out. */
typedef struct ox_bconv_task {
  ox_isa isa;
  ox_conv_geom g; /* in and out are 0 where a load does not know them yet */
  ox_act act;     /* after bias and residual; none where a run has slopes (ox_conv_args.slope) */
  bool x_plain;   /* an image: few channels, as the model's input has them */
  bool exact;     /* no form may be chosen whose rounding errors exceed those of plain sums (Winograd's do) */
  bool alone;     /* a worker's scratch is this plan's alone during a run, which finds what it left there */
  bool lends;     /* runs tell what W holds (ox_conv_args.filters), so that no form keeps what it hardly ever needs */
  ox_tune *tune;  /* what was measured; NULL: costs decide */
} ox_bconv_task;

/* The bounds of sums that are a Relu or Clip, else infinite; true: |act| is another and comes after them. */
static inline bool ox_bconv_clamp(const ox_act *act, float *lo, float *hi) {
  *lo = act->kind == OX_ACT_RELU ? 0 : act->kind == OX_ACT_CLIP ? act->a : -INFINITY;
  *hi = act->kind == OX_ACT_CLIP ? act->b : INFINITY;
  return act->kind != OX_ACT_NONE && act->kind != OX_ACT_RELU && act->kind != OX_ACT_CLIP;
}

typedef struct ox_bconv_form ox_bconv_form;

/* The common head of every form's plan. */
typedef struct ox_bconv_plan {
  const ox_bconv_form *form;
  ox_bconv_task task;
  uint32_t n_stages;
  int64_t n_tiles[4];
  size_t scratch_bytes, shared_bytes; /* of a worker; of a run: a->shared */
} ox_bconv_plan;

struct ox_bconv_form {
  const char *name; /* as profiles and the tuner show it */
  size_t plan_bytes; /* of the form's own plan, whose first member is an ox_bconv_plan */
  /* What one thread is expected to need, in ns; infinity: this form does not serve. A sum of estimates, not a promise:
   * measured choices come before it. */
  double (*cost_ns)(const ox_bconv_task *t);
  /* Floats of packed weights; 0: the form reads W as it is, [groups * oc][ic][taps]. */
  size_t (*weight_floats)(const ox_bconv_task *t);
  /* Packs units [u0, u1) of weight_units from |w|, the filters of these units, which may be unaligned. Units are
   * independent: they may run in parallel. The first filter of unit u is unit_filter(u); after the last one there are
   * groups * oc. */
  int64_t (*weight_units)(const ox_bconv_task *t);
  int64_t (*unit_filter)(const ox_bconv_task *t, int64_t u);
  void (*pack)(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop);
  /* Units [u0, u1) of packed weights, those of input channel c times scale[c]: as if the inputs had been scaled. Only
   * where |scales| says so; NULL: nowhere. */
  bool (*scales)(const ox_bconv_task *t);
  void (*scale)(const ox_bconv_task *t, float *to, const float *from, const float *scale, int64_t u0, int64_t u1);
  int64_t (*n_sums)(const ox_bconv_plan *p); /* that runs leave of each plane of Y in ox_conv_args.sums; NULL: none */
  /* Fills |p|, plan_bytes of zeros but for p->task and p->form. False: a size overflows. */
  bool (*plan)(ox_bconv_plan *p);
  /* Tiles [begin, end) of a stage. a->w is packed, a->z in blocks like y, or y itself; bias has groups * oc elements, slope as many
   * and those that fill the last block. */
  void (*run)(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
              void *scratch);
};

/* All forms; a form that does not serve a task says so by its cost. */
const ox_bconv_form *const *ox_bconv_forms(size_t *out_n);
/* The fastest form for |t| as it was measured, else the cheapest; NULL: none serves. */
const ox_bconv_form *ox_bconv_choose(const ox_bconv_task *t);
/* What was measured, or is now if t->tune measures; NULL: nothing (bconv_tune.c). */
const ox_bconv_form *ox_bconv_measured(const ox_bconv_task *t);

#endif
