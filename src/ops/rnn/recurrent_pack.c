/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_pack.c - constant weights of recurrent cells, packed in prepare. */
#include "base/cksize.h"
#include "ops/rnn/recurrent.h"

static const uint32_t slots[4] = {IN_W, IN_R, IN_B, IN_P};

typedef struct packing {
  const recurrent_dims *d;
  const recurrent_attrs *attrs;
  bool peep;
  size_t bytes, units; /* of a direction */
} packing;

static void pack_units(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                       void *scratch) {
  const packing *k = p->arg;
  const ox_tensor *from[4];
  (void)scratch;
  for (int i = 0; i < 4; i++) from[i] = p->inputs >> slots[i] & 1 ? in[slots[i]] : NULL;
  for (int64_t u = begin; u < end; u++) {
    size_t dir = (size_t)u / k->units;
    recurrent_weights w;
    recurrent_weights_at(k->d, k->peep, (char *)to + dir * k->bytes, &w);
    recurrent_pack_unit(k->d, k->attrs, from, dir, (size_t)u % k->units, &w);
  }
}

ox_status *recurrent_pack_const(ox_kernel_ctx *c, const recurrent_dims *d, const void **out_base) {
  packing k = {.d = d, .attrs = c->attrs, .peep = recurrent_in(c, IN_P) != NULL};
  ox_pack p = {.struct_size = sizeof p, .fn = pack_units, .arg = &k};
  const ox_tensor *in[4];
  recurrent_weights w;
  for (int i = 0; i < 4; i++)
    if ((in[i] = recurrent_in(c, slots[i])) != NULL) p.inputs |= (uint64_t)1 << slots[i];
  k.bytes = recurrent_weights_at(d, k.peep, NULL, &w), k.units = recurrent_pack_units(d, in);
  p.n_units = (int64_t)(k.units * d->dirs);
  p.form = (uint64_t)d->v[1]->nr << 16 | d->v[2]->nr; /* the widths of R's panels */
  if (!ox_mul_ok(k.bytes, d->dirs, &p.bytes)) return ox_oom();
  return ox_ctx_pack(c, &p, out_base);
}
