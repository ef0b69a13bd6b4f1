/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_pack.c - see conv_pack.h. */
#include "ops/shared/conv_pack.h"

#include "base/cksize.h"
#include "kern/quant/convert.h"

enum { UNIT_FLOATS = 32 << 10, AS_THEY_ARE = 0, PANELS = 1 /* forms */ };

typedef struct packing {
  const ox_conv_weights *w;
  const ox_conv_variant *v;
  ox_isa isa;
  int64_t panels;   /* of a group */
  int64_t per_unit; /* panels, or floats as they are */
} packing;

/* |n| floats from |at| on: where they lie, or widened to |scratch|. */
static const float *floats(const packing *k, const ox_tensor *t, int64_t at, int64_t n, float *scratch) {
  if (t->dtype == OX_F32) return (const float *)t->data + at;
  ox_convert_select(k->isa)->load_f32[t->dtype](t->data, (size_t)at, (size_t)n, scratch);
  return scratch;
}

/* Which filter panel |i| begins with; behind the last one: how many there are. */
static int64_t first_filter(const packing *k, int64_t i) {
  return i / k->panels * k->w->oc + i % k->panels * OX_CONV_PANEL;
}

static void panel_floats(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  const packing *k = p->arg;
  int64_t end = OX_MIN((unit + 1) * k->per_unit, k->w->groups * k->panels);
  *out_first = first_filter(k, unit * k->per_unit) * k->w->k;
  *out_n = first_filter(k, end) * k->w->k - *out_first;
}

static void pack_panels(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                        void *scratch) {
  const packing *k = p->arg;
  const ox_conv_weights *w = k->w;
  int64_t last = OX_MIN(end * k->per_unit, w->groups * k->panels);
  for (int64_t i = begin * k->per_unit; i < last; i++) {
    int64_t first = i % k->panels * OX_CONV_PANEL, n = OX_MIN(w->oc - first, (int64_t)OX_CONV_PANEL);
    int64_t at = first_filter(k, i) - first_filter(k, begin * k->per_unit);
    const float *from = floats(k, in[w->input], at * w->k, n * w->k, scratch);
    ox_conv_pack_panel(k->v, to, i, from, n, w->k);
  }
}

static void unit_floats(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  const packing *k = p->arg;
  *out_first = unit * k->per_unit;
  *out_n = OX_MIN(k->w->groups * k->w->oc * k->w->k - *out_first, k->per_unit);
}

static void widen(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end, void *scratch) {
  const packing *k = p->arg;
  const ox_tensor *t = in[k->w->input];
  int64_t from, n;
  unit_floats(p, begin, &from, &n);
  (void)end, (void)scratch;
  ox_convert_select(k->isa)->load_f32[t->dtype](t->data, 0, (size_t)n, (float *)to + from);
}

ox_status *ox_conv_pack(ox_kernel_ctx *c, const ox_conv_weights *w, const ox_conv_variant *v, const float **out) {
  packing k = {.w = w, .v = v, .isa = c->isa, .per_unit = UNIT_FLOATS};
  ox_pack p = {
      .struct_size = sizeof p, .inputs = (uint64_t)1 << w->input, .fn = widen, .arg = &k, .piece = unit_floats};
  int64_t n = w->groups * w->oc * w->k;
  const void *data;
  if (v) {
    k.panels = OX_CEIL_DIV(w->oc, OX_CONV_PANEL), n = w->groups * k.panels;
    k.per_unit = OX_MAX(UNIT_FLOATS / (OX_CONV_PANEL * w->k), 1);
    p.fn = pack_panels, p.piece = panel_floats, p.form = PANELS;
    if (w->type != OX_F32) p.scratch_bytes = (size_t)(OX_CONV_PANEL * w->k) * sizeof(float);
  }
  p.n_units = OX_CEIL_DIV(n, k.per_unit);
  size_t floats = v ? ox_conv_weight_floats(w->groups, w->oc, w->k) : (size_t)n;
  if (!ox_mul_ok(floats, sizeof(float), &p.bytes)) return ox_oom();
  OX_TRY(ox_ctx_pack(c, &p, &data));
  *out = data;
  return NULL;
}
