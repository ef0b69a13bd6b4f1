/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd2.c - 3x3 windows of stride 1, 2 x 2 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

static double cost_ns(const ox_bconv_task *t) { return ox_wino_cost_ns(t, OX_WINO_F2); }
static size_t weight_floats(const ox_bconv_task *t) { return ox_wino_weight_floats(t, OX_WINO_F2); }
static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  ox_wino_pack(t, OX_WINO_F2, dst, w, u0, u1, stop);
}
static bool plan(ox_bconv_plan *p) { return ox_wino_plan_init(p, OX_WINO_F2); }

extern const ox_bconv_form ox_bconv_form_winograd2;
const ox_bconv_form ox_bconv_form_winograd2 = {.name = "winograd2",
                                               .plan_bytes = sizeof(ox_wino_plan),
                                               .cost_ns = cost_ns,
                                               .weight_floats = weight_floats,
                                               .weight_units = ox_wino_weight_units,
                                               .pack = pack,
                                               .plan = plan,
                                               .run = ox_wino_run};
