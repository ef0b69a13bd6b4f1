/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_pack.c - see conv_pack.h. */
#include "ops/shared/conv_pack.h"

#include "base/cksize.h"
#include "base/macros.h"
#include "kern/quant/convert.h"

enum { UNIT_FLOATS = 32 << 10 };

typedef struct widening {
  uint32_t input;
  ox_isa isa;
  int64_t n;
} widening;

static void unit_floats(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  const widening *w = p->arg;
  *out_first = unit * UNIT_FLOATS;
  *out_n = OX_MIN(w->n - *out_first, UNIT_FLOATS);
}

static void widen(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end, void *scratch) {
  const widening *w = p->arg;
  const ox_tensor *t = in[w->input];
  int64_t first, n;
  unit_floats(p, begin, &first, &n);
  (void)end, (void)scratch;
  ox_convert_select(w->isa)->load_f32[t->dtype](t->data, 0, (size_t)n, (float *)to + first);
}

ox_status *ox_conv_widen(ox_kernel_ctx *c, uint32_t input, const float **out) {
  const widening w = {input, c->isa, ox_shape_count(&c->in[input]->shape)};
  ox_pack p = {.struct_size = sizeof p,
               .inputs = (uint64_t)1 << input,
               .n_units = OX_CEIL_DIV(w.n, UNIT_FLOATS),
               .fn = widen,
               .arg = (void *)&w,
               .piece = unit_floats};
  const void *data;
  if (!ox_mul_ok((size_t)w.n, sizeof(float), &p.bytes)) return ox_oom();
  OX_TRY(ox_ctx_pack(c, &p, &data));
  *out = data;
  return NULL;
}
