/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/bconv_pack.c - see bconv_pack.h. */
#include "ops/shared/bconv_pack.h"

#include <string.h>

#include "base/cksize.h"

enum { COPIED = 32 << 10 /* floats of a unit that is only copied */ };

typedef struct packing {
  const ox_bconv_form *form;
  const ox_bconv_task *task;
  uint32_t in;
} packing;

static void pack_unit(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                      void *scratch) {
  const packing *k = p->arg;
  (void)scratch;
  k->form->pack(k->task, to, in[k->in]->data, begin, end, NULL);
}

static void unit_filters(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  const packing *k = p->arg;
  int64_t filter = k->task->g.ic * ox_conv_taps(&k->task->g);
  *out_first = k->form->unit_filter(k->task, unit) * filter;
  *out_n = k->form->unit_filter(k->task, unit + 1) * filter - *out_first;
}

/* ---- forms that read W unpacked ---- */

static void unit_floats(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  *out_first = unit * COPIED;
  *out_n = OX_MIN((int64_t)(p->bytes / sizeof(float)) - *out_first, (int64_t)COPIED);
}

static void copy_unit(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                      void *scratch) {
  const packing *k = p->arg;
  int64_t first, n;
  (void)end, (void)scratch;
  unit_floats(p, begin, &first, &n);
  memcpy((float *)to + first, in[k->in]->data, (size_t)n * sizeof(float));
}

ox_status *ox_bconv_pack(ox_kernel_ctx *c, const ox_bconv_form *form, const ox_bconv_task *t, uint32_t in, uint64_t id,
                         const void *const **out_place) {
  packing *k = ox_ctx_alloc(c, sizeof *k);
  if (!k) return ox_oom();
  *k = (packing){form, t, in};
  size_t floats = form->weight_floats(t), n = floats ? floats : (size_t)ox_shape_count(&c->in[in]->shape);
  ox_pack p = {.struct_size = sizeof p, .form = id, .inputs = (uint64_t)1 << in, .arg = k};
  p.n_units = floats ? form->weight_units(t) : (int64_t)OX_CEIL_DIV(n, (size_t)COPIED);
  p.fn = floats ? pack_unit : copy_unit, p.piece = floats ? unit_filters : unit_floats;
  if (!ox_mul_ok(n, sizeof(float), &p.bytes)) return ox_fail(OX_LIMIT, "the weights are too large");
  return ox_ctx_pack_for_runs(c, &p, out_place);
}
