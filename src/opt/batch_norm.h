/* SPDX-License-Identifier: Apache-2.0
 * opt/batch_norm.h - for rules: BatchNormalization in inference as a scale and a shift of each channel. */
#ifndef OX_OPT_BATCH_NORM_H
#define OX_OPT_BATCH_NORM_H

#include "onyx/rewrite.h"

enum { OX_NORM_SCALE, OX_NORM_SHIFT, OX_NORM_MEAN, OX_NORM_VARIANCE, OX_NORM_PARAMS };

/* Whether |node| has float constants |arg| (its inputs from 1 on) for |channels|, and only its first output is read. */
static inline int ox_norm_is_affine(const ox_rewrite *g, ox_id node, const ox_id *arg, int64_t channels) {
  if (ox_attr_i(g, node, "training_mode", 0) || !ox_attr_i(g, node, "spatial", 1) || !ox_one_output(g, node)) return 0;
  if (ox_opset_of(g, "") < 7 && !ox_attr_i(g, node, "is_test", 0)) return 0;
  for (int i = 0; i < OX_NORM_PARAMS; i++) {
    const ox_tensor *t = ox_const(g, arg[i]);
    if (!t || t->dtype != OX_F32 || ox_elements(&t->shape) != channels) return 0;
  }
  return 1;
}

/* y = x * scale + shift for channel |c|. */
static inline void ox_norm_affine(const ox_rewrite *g, ox_id node, const ox_id *arg, int64_t c, double *out_scale,
                                  double *out_shift) {
  double eps = (double)ox_attr_f(g, node, "epsilon", 1e-5f), p[OX_NORM_PARAMS];
  for (int i = 0; i < OX_NORM_PARAMS; i++) p[i] = ox_at(g, ox_const(g, arg[i]), c);
  *out_scale = p[OX_NORM_SCALE] / sqrt(p[OX_NORM_VARIANCE] + eps);
  *out_shift = p[OX_NORM_SHIFT] - p[OX_NORM_MEAN] * *out_scale;
}

#endif
