/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/groups_apart.h - forms for groups that are no whole blocks, such as the 24 or 56 channels of RegNets,
 * made of forms that know groups with blocks of their own (ox_bconv_task.y_apart): stage 0 copies each group's inputs
 * to such blocks, if the form cannot read them where they are, and the last stage brings the results together again.
 * What a group's last block has beyond its channels is never read. */
#ifndef OX_KERN_BLOCKS_GROUPS_APART_H
#define OX_KERN_BLOCKS_GROUPS_APART_H

#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/winograd.h"

typedef struct ox_apart_plan {
  ox_bconv_plan head;
  union {
    ox_bconv_plan head;
    ox_bconv_direct_plan direct;
    ox_wino_plan winograd;
  } inner;
  int64_t in_blocks, panels; /* of a group */
  int64_t in_pixels, pixels;
  size_t y_at, slope_at, inner_at; /* in shared memory, behind X's copy */
} ox_apart_plan;

/* The task that the inner form sees. |splits|: it reads inputs in blocks of their group only. */
ox_bconv_task ox_apart_task(const ox_bconv_task *t, bool splits);
double ox_apart_cost_ns(const ox_bconv_task *t, const ox_bconv_form *inner, bool splits);
bool ox_apart_plan_init(ox_bconv_plan *p, const ox_bconv_form *inner, bool splits);
void ox_apart_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                  void *scratch);

/* The form ox_bconv_form_|stem|, called |name_|, around ox_bconv_form_|of|, whose packed weights it uses. */
#define OX_APART_FORM(stem, name_, of, splits)                                                                        \
  extern const ox_bconv_form ox_bconv_form_##of, ox_bconv_form_##stem;                                                \
  static double cost_ns(const ox_bconv_task *t) { return ox_apart_cost_ns(t, &ox_bconv_form_##of, splits); }          \
  static size_t weight_floats(const ox_bconv_task *t) {                                                               \
    const ox_bconv_task task = ox_apart_task(t, splits);                                                              \
    return ox_bconv_form_##of.weight_floats(&task);                                                                   \
  }                                                                                                                   \
  static int64_t weight_units(const ox_bconv_task *t) { return ox_bconv_form_##of.weight_units(t); }                  \
  static int64_t unit_filter(const ox_bconv_task *t, int64_t u) { return ox_bconv_form_##of.unit_filter(t, u); }      \
  static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) { \
    const ox_bconv_task task = ox_apart_task(t, splits);                                                              \
    ox_bconv_form_##of.pack(&task, dst, w, u0, u1, stop);                                                             \
  }                                                                                                                   \
  static bool plan(ox_bconv_plan *p) { return ox_apart_plan_init(p, &ox_bconv_form_##of, splits); }                   \
  const ox_bconv_form ox_bconv_form_##stem = {.name = name_,                                                          \
                                              .plan_bytes = sizeof(ox_apart_plan),                                    \
                                              .cost_ns = cost_ns,                                                     \
                                              .weight_floats = weight_floats,                                         \
                                              .weight_units = weight_units,                                           \
                                              .unit_filter = unit_filter,                                             \
                                              .pack = pack,                                                           \
                                              .plan = plan,                                                           \
                                              .run = ox_apart_run}

#endif
