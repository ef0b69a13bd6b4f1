/* SPDX-License-Identifier: Apache-2.0
 * opt/rule_header_test.cpp - onyx/rule.h and onyx/rewrite.h in C++: a rule compiles, and its short names call the table. */
#include <cstdio>

#include "onyx/rewrite.h"

namespace {

struct found {
  double factor;
  ox_id x;
};

const ox_pat_in x_in = OX_ARG(0), c_in = OX_CONST(1);

int guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  f->x = m->arg[0];
  return ox_const_scalar(g, m->arg[1], &f->factor) && f->factor == 2;
}

ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  const ox_id in[] = {f->x, f->x};
  return ox_remake(g, m->node[0], nullptr, "Add", in, 2);
}

/* A graph of one Mul, as far as the rule asks. */
ox_id inputs[2] = {7, 8};
int n_edits;
float two = 2;
ox_tensor constant;

const ox_tensor *value_const(const ox_rewrite *, ox_id v) { return v == 8 ? &constant : nullptr; }
double element(const ox_tensor *t, int64_t) { return double(*static_cast<float *>(t->data)); }
ox_status *become(const ox_rewrite *, ox_id, const char *, const char *) { return n_edits++, nullptr; }
ox_status *remove_attr(const ox_rewrite *, ox_id, const char *) { return n_edits++, nullptr; }
ox_status *set_in(const ox_rewrite *, ox_id, uint32_t slot, ox_id v) { return inputs[slot] = v, n_edits++, nullptr; }
ox_status *set_counts(const ox_rewrite *, ox_id, uint32_t, uint32_t) { return n_edits++, nullptr; }
uint32_t node_out_count(const ox_rewrite *, ox_id) { return 1; }

}  // namespace

int main() {
  ox_graph_api api = ox_graph_api();
  api.struct_size = sizeof api;
  api.value_const = value_const, api.element = element, api.become = become, api.remove_attr = remove_attr;
  api.set_in = set_in, api.set_counts = set_counts, api.node_out_count = node_out_count;
  constant.dtype = OX_F32, constant.data = &two, constant.bytes = sizeof two;

  ox_pat pat = ox_pat();
  pat.op = "Mul", pat.in[0] = x_in, pat.in[1] = c_in;
  ox_rule rule = ox_rule();
  rule.struct_size = sizeof rule, rule.level = OX_OPTIMIZE_BASIC, rule.name = "double";
  rule.pat = &pat, rule.n_pat = 1, rule.pat_row_bytes = sizeof pat, rule.guard = guard, rule.apply = apply;

  ox_rewrite g = {sizeof g, &api, nullptr};
  ox_match m = ox_match();
  m.arg[0] = 7, m.arg[1] = 8;
  bool good = rule.guard(&g, &m) == 1 && rule.apply(&g, &m) == nullptr && inputs[1] == 7 && n_edits == 5;
  m.arg[1] = 7;
  good = good && rule.guard(&g, &m) == 0;
  if (!good) std::printf("the rule in C++ does not work\n");
  return good ? 0 : 1;
}
