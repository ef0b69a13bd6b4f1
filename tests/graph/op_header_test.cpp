// SPDX-License-Identifier: Apache-2.0
// graph/op_header_test.cpp - onyx/op.h in C++: rows are plain structs, filled in field by field.
#include "onyx/op.h"

static ox_status *infer(ox_infer_ctx *c) {
  if (c->n_in && c->n_out && c->in[0]) c->out[0] = *c->in[0];
  return nullptr;
}

int main() {
  ox_schema s = {};
  s.struct_size = sizeof s, s.name = "Same", s.domain = "com.stranger", s.since = 1;
  s.min_in = s.max_in = 1, s.types[0] = OX_T_FLOAT | OX_BIT(OX_I64), s.traits = OX_ANY_KIND, s.infer = infer;
  const ox_op op = {&s, nullptr};
  ox_type in = {}, out = {};
  const ox_type *ins[] = {&in};
  ox_infer_ctx c = {};
  in.kind = OX_SEQUENCE;
  c.struct_size = sizeof c, c.n_in = c.n_out = 1, c.in = ins, c.out = &out;
  if (op.schema->infer(&c) || out.kind != OX_SEQUENCE) return 1;
  return OX_SCHEMA_SIZE_1_0 <= sizeof s && OX_KERNEL_SIZE_1_0 <= sizeof(ox_kernel_def) ? 0 : 2;
}
