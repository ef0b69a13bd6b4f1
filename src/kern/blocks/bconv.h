/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv.h - float32 convolution between tensors in blocks of channels (docs/blocks.md).
 *
 * A form is one algorithm for a convolution: direct, depthwise, Winograd ... The forms are a table (bconv_forms.c). The
 * caller asks for the fastest that supports the task (bconv_choose.c), lets it pack the weights, plans for a shape and
 * runs tiles.
 * A form's results and tiles depend on the task alone, never on the number of threads. */
#ifndef OX_KERN_BLOCKS_BCONV_H
#define OX_KERN_BLOCKS_BCONV_H

#include <math.h>

#include "kern/blocks/blocks.h"
#include "base/tune.h"
#include "kern/conv/conv.h"

/* The convolution to compute. X is [batch][blocks of groups * ic][in][16], or NCHW if |x_plain|; Y is [batch][blocks of
 * groups * oc][out][16]. Lanes past the last channel of X may hold anything, even NaN: no result may depend on them.
 * Lanes past the last channel of Y may hold anything afterwards. */
typedef struct ox_bconv_task {
  ox_isa isa;
  ox_conv_geom g;        /* in and out are 0 if they are unknown at load time */
  ox_act act;            /* after bias and residual; none if runs have slopes (ox_conv_args.slope) */
  bool x_plain;          /* X is an image in NCHW with few channels, as a model's input */
  bool x_apart, y_apart; /* in X, in Y each group has whole blocks of its own (groups_apart.h) */
  bool exact;            /* exclude forms whose rounding errors exceed those of direct sums, such as Winograd's */
  bool alone;    /* during a run a worker's scratch has no other user, so its contents survive from call to call */
  bool reads_w;  /* runs can read W (ox_conv_args.filters), so forms need not keep a copy that they rarely use */
  ox_tune *tune; /* measured choices; NULL: the cost estimates decide */
} ox_bconv_task;

/* The bounds that apply a Relu or Clip, else infinities. True: |act| is another activation, to be applied
 * afterwards. */
static inline bool ox_bconv_clamp(const ox_act *act, float *lo, float *hi) {
  *lo = act->kind == OX_ACT_RELU ? 0 : act->kind == OX_ACT_CLIP ? act->a : -INFINITY;
  *hi = act->kind == OX_ACT_CLIP ? act->b : INFINITY;
  return act->kind != OX_ACT_NONE && act->kind != OX_ACT_RELU && act->kind != OX_ACT_CLIP;
}

/* If taps are 1x1 at 0 with stride 1, each of the |pixels| of Y belongs to one of X, and |g| becomes one long row. */
static inline void ox_bconv_flatten(ox_conv_geom *g, int64_t pixels) {
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->n_taps[a] != 1 || g->tap[a][0] != 0 || g->stride[a] != 1 || g->in[a] != g->out[a]) return;
  g->in[2] = g->out[2] = pixels;
  g->in[0] = g->in[1] = g->out[0] = g->out[1] = 1;
}

typedef struct ox_bconv_form ox_bconv_form;

/* The first member of every form's plan. */
typedef struct ox_bconv_plan {
  const ox_bconv_form *form;
  ox_bconv_task task;
  uint32_t n_stages;
  int64_t n_tiles[4];
  size_t scratch_bytes, shared_bytes; /* per worker; per run, in a->shared */
} ox_bconv_plan;

struct ox_bconv_form {
  const char *name;  /* as profiles and the tuner show it */
  size_t plan_bytes; /* of the form's own plan, whose first member is an ox_bconv_plan */
  /* The estimated time on one thread, in ns; infinity: the form does not support the task. Measured choices take
   * precedence. */
  double (*cost_ns)(const ox_bconv_task *t);
  /* Floats of packed weights; 0: the form reads W unpacked, [groups * oc][ic][taps]. */
  size_t (*weight_floats)(const ox_bconv_task *t);
  /* Packs units [u0, u1) of weight_units from |w|, the filters of these units, which may be unaligned. Units are
   * independent and may be packed in parallel. The first filter of unit u is unit_filter(u); for u = weight_units that
   * is groups * oc. */
  int64_t (*weight_units)(const ox_bconv_task *t);
  int64_t (*unit_filter)(const ox_bconv_task *t, int64_t u);
  void (*pack)(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop);
  /* Multiplies units [u0, u1) of packed weights by scale[c] for input channel c, which has the effect of scaling the
   * inputs. Only if |scales| returns true; NULL: not supported. */
  bool (*scales)(const ox_bconv_task *t);
  void (*scale)(const ox_bconv_task *t, float *to, const float *from, const float *scale, int64_t u0, int64_t u1);
  /* Sums that a run writes for each plane of Y to ox_conv_args.sums; NULL: none. */
  int64_t (*n_sums)(const ox_bconv_plan *p);
  /* Fills |p|, plan_bytes of zeros but for p->task and p->form. False: a size overflows. */
  bool (*plan)(ox_bconv_plan *p);
  /* Tiles [begin, end) of a stage. a->w is packed, a->z in blocks like y, or y itself; bias has groups * oc elements,
   * slope the same rounded up to whole blocks. */
  void (*run)(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end, void *scratch);
};

/* All forms; one that does not support a task has infinite cost. */
const ox_bconv_form *const *ox_bconv_forms(size_t *out_n);
/* The form that was measured as the fastest for |t|, else the one of the lowest cost; NULL: none supports it. */
const ox_bconv_form *ox_bconv_choose(const ox_bconv_task *t);
/* What ox_bconv_choose adds to a form's estimate for reading |floats| of weights. */
double ox_bconv_weights_ns(const ox_bconv_task *t, double floats);
/* The fastest form by a recorded measurement, or by one that is made now if t->tune measures; NULL: not measured
 * (bconv_tune.c). */
const ox_bconv_form *ox_bconv_measured(const ox_bconv_task *t);

#endif
