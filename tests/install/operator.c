/* SPDX-License-Identifier: Apache-2.0
 * install/operator.c - an operator of a stranger's: C99, onyx/op.h alone, nothing to link with. Its two functions are
 * called here as a host calls them. */
#include <string.h>

#include "onyx/op.h"

typedef struct scale_attrs {
  float factor;
  int64_t axis;
  unsigned char has_axis;
} scale_attrs;

static const ox_attr_def attrs[] = {OX_ATTR_FLOAT(scale_attrs, factor, 2), OX_ATTR_INT_HAS(scale_attrs, axis, -1)};

static ox_status *infer(ox_infer_ctx *c) {
  if (c->n_in && c->n_out && c->in[0]) c->out[0] = *c->in[0];
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const scale_attrs *a = (const scale_attrs *)c->attrs;
  const float *x = (const float *)c->in[0]->data;
  float *y = (float *)c->out[0]->data;
  int64_t i;
  (void)stage, (void)scratch;
  for (i = tiles.begin; i < tiles.end; i++) y[i] = x[i] * a->factor;
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Scale", .domain = "com.stranger", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 1,
               .max_in = 1, OX_ATTRS(attrs), .attrs_bytes = sizeof(scale_attrs), .infer = infer),
     OX_KERNEL(.inplace = 1, .run = run)},
};

int main(void) {
  const ox_schema *s = ops[0].schema;
  scale_attrs a = {0};
  float data[] = {1, 2, 3};
  ox_type in, out;
  ox_tensor t;
  const ox_type *ins[1];
  const ox_tensor *xs[1];
  ox_tensor *ys[1];
  ox_infer_ctx i;
  ox_kernel_ctx c;
  if (s->struct_size != sizeof *s || s->attr_row_bytes != sizeof attrs[0] || s->n_attrs != 2 || s->known) return 1;
  memset(&in, 0, sizeof in), memset(&out, 0, sizeof out), memset(&i, 0, sizeof i);
  in.dtype = OX_F32, ins[0] = &in;
  i.struct_size = sizeof i, i.op = s->name, i.n_in = i.n_out = 1, i.in = ins, i.out = &out;
  if (s->infer(&i) || out.dtype != OX_F32) return 2;
  memset(&c, 0, sizeof c), memset(&t, 0, sizeof t);
  a.factor = attrs[0].f;
  t.dtype = OX_F32, t.data = data, t.bytes = sizeof data, t.shape.rank = 1, t.shape.dim[0] = 3;
  xs[0] = &t, ys[0] = &t;
  c.struct_size = sizeof c, c.n_in = c.n_out = 1, c.in = xs, c.out = ys, c.attrs = &a;
  {
    ox_range all = {0, 3};
    if (ops[0].kernel->run(&c, 0, all, NULL)) return 3;
  }
  return data[0] == 2 && data[1] == 4 && data[2] == 6 ? 0 : 4;
}
