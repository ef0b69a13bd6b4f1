/* SPDX-License-Identifier: Apache-2.0
 * hostile/case_text.c - see case_text.h. */
#include "hostile/case_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

const char *const hostile_way_names[N_WAYS] = {"input",   "open input", "constant",
                                               "from If", "from Loop",  "from a sequence"};
const char *const hostile_place_names[N_PLACES] = {"bare", "in the branch taken", "in the other branch", "in a Loop",
                                                   "in a function"};

static void say(hostile_text *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->text + t->n, sizeof t->text - t->n, fmt, args);
  va_end(args);
  t->full |= n < 0 || (size_t)n >= sizeof t->text - t->n;
  if (!t->full) t->n += (size_t)n;
}

/* ---- types and values ---- */

static void say_type(hostile_text *t, const hostile_value *v, bool open, rng *r) {
  static const char *const wraps[] = {
      [OX_SEQUENCE] = "seq(", [OX_NONE_VALUE] = "optional(", [OX_SPARSE] = "sparse_tensor("};
  bool wrapped = v->wrapped != OX_TENSOR, symbols = open && rng_below(r, 2);
  say(t, "%s%s", wrapped ? wraps[v->wrapped] : "", hostile_dtype_name(v->dtype));
  if (open && !symbols) say(t, "[]");
  for (int i = 0; i < v->rank && (symbols || !open); i++) {
    say(t, i ? "," : "[");
    if (symbols && rng_below(r, 2))
      say(t, "N%u", rng_below(r, 4));
    else
      say(t, "%lld", (long long)v->dim[i]);
  }
  if (v->rank && (symbols || !open)) say(t, "]");
  if (wrapped) say(t, ")");
}

static double value_at(const hostile_value *v, int64_t i, rng *r) {
  if (v->n_values) return v->values[i % v->n_values];
  bool is_float = v->dtype == OX_F32 || v->dtype == OX_F64;
  return is_float ? (double)rng_below(r, 4001) / 1000 - 2 : (double)rng_below(r, 3);
}

/* By value for 32- and 64-bit floats, integers and bools; other types are written as bits. */
static void say_number(hostile_text *t, uint32_t dtype, double v, rng *r) {
  static const struct {
    double least, most;
  } ranges[OX_DTYPE_COUNT] = {[OX_U8] = {0, 255},
                              [OX_I8] = {-128, 127},
                              [OX_U16] = {0, 65535},
                              [OX_I16] = {-32768, 32767},
                              [OX_I32] = {INT32_MIN, INT32_MAX},
                              [OX_U32] = {0, UINT32_MAX},
                              [OX_I64] = {-9.2e18, 9.2e18},
                              [OX_U64] = {0, 9.2e18},
                              [OX_BOOL] = {0, 1}};
  if (dtype == OX_F32 || dtype == OX_F64) {
    double least = dtype == OX_F32 ? 3.4e38 : 1.7e308;
    if (isnan(v))
      say(t, "nan");
    else if (isinf(v) || fabs(v) > least)
      say(t, v < 0 ? "-inf" : "inf");
    else
      say(t, "%.9e", v);
  } else if (ranges[dtype].most > 0) {
    v = isnan(v) ? 0 : OX_MIN(OX_MAX(v, ranges[dtype].least), ranges[dtype].most);
    say(t, "%lld", (long long)v);
  } else {
    say(t, "%u", rng_below(r, dtype == OX_F16 || dtype == OX_BF16 ? 0x4400 : 16));
  }
}

/* The literal of a constant; false if it would be too long. */
static bool say_values(hostile_text *t, const hostile_value *v, rng *r) {
  int64_t n = hostile_count(v), per_element = v->dtype == OX_C64 || v->dtype == OX_C128 ? 2 : 1;
  say(t, "{");
  for (int64_t i = 0; i < n; i++) {
    if (v->dtype == OX_STRING) say(t, "%s\"%c%u\"", i ? ", " : "", (char)('a' + i % 26), rng_below(r, 100));
    for (int64_t k = 0; v->dtype != OX_STRING && k < per_element; k++) {
      if (i || k) say(t, ", ");
      say_number(t, v->dtype, value_at(v, i, r), r);
    }
  }
  say(t, "}");
  return n >= 0;
}

static bool may_be_constant(const hostile_value *v) {
  int64_t n = hostile_count(v);
  return v->wrapped == OX_TENSOR && n >= 0 && n <= 3000 && !(v->dtype >= OX_U4 && v->dtype != OX_F8E8M0);
}

/* ---- inputs ---- */

static void feed(hostile_text *t, const char *prefix, int i, const hostile_value *v) {
  hostile_feed *f = &t->feeds[t->n_feeds++];
  snprintf(f->name, sizeof f->name, "%s%d", prefix, i);
  f->value = *v;
}

static void choose_ways(const one_node_model *m, bool plain, rng *r, hostile_text *t) {
  uint32_t all = rng_below(r, 4); /* often all the same */
  for (int i = 0; i < m->n_in; i++) {
    uint32_t way = all < 3 ? all : rng_below(r, N_WAYS);
    if (m->in[i].n_values && all == 0 && rng_below(r, 2)) way = AS_CONSTANT; /* axes, sizes */
    if (plain) way = m->in[i].n_values ? AS_CONSTANT : AS_INPUT;
    if (way == AS_CONSTANT && !may_be_constant(&m->in[i])) way = AS_INPUT;
    t->way[i] = (hostile_way)way;
  }
}

/* Graph inputs and constants. What a value passes through may as well have another type. */
static void say_declarations(const one_node_model *m, rng *r, hostile_text *t) {
  t->condition = rng_below(r, 2);
  for (int i = 0; i < m->n_in; i++) {
    const hostile_value *v = &m->in[i];
    if (v->left_out || t->way[i] == AS_CONSTANT) continue;
    feed(t, t->way[i] >= FROM_IF ? "r" : "x", i, v);
    say_type(t, v, t->way[i] == AS_OPEN, r);
    say(t, " %s, ", t->feeds[t->n_feeds - 1].name);
    if (t->way[i] < FROM_IF) continue;
    hostile_value other = *v;
    if (rng_below(r, 2))
      other.dtype = 1 + rng_below(r, OX_DTYPE_COUNT - 1);
    else if (rng_below(r, 2))
      other.wrapped = OX_SEQUENCE;
    else
      other = (hostile_value){.dtype = OX_F32, .rank = (int)rng_below(r, 3), .dim = {2, 3}};
    feed(t, "q", i, &other);
    say_type(t, &other, false, r);
    say(t, " q%d, ", i);
  }
  say(t, "bool c) => (bool z");
}

static void say_constants(const one_node_model *m, rng *r, hostile_text *t) {
  say(t, " <int64 trips = {2}, bool go = {1}, int64 one = {1}");
  for (int i = 0; i < m->n_in; i++) {
    if (m->in[i].left_out || t->way[i] != AS_CONSTANT) continue;
    say(t, ", ");
    say_type(t, &m->in[i], false, r);
    say(t, " x%d = ", i);
    say_values(t, &m->in[i], r);
  }
  say(t, ">");
}

static void say_detours(const one_node_model *m, hostile_text *t) {
  for (int i = 0; i < m->n_in; i++) {
    if (m->in[i].left_out) continue;
    if (t->way[i] == FROM_IF)
      say(t,
          "\n x%d = If (c) <then_branch = t%d () => (a%d) { a%d = Identity (r%d) }, else_branch = e%d () => (b%d)"
          " { b%d = Identity (q%d) }>",
          i, i, i, i, i, i, i, i, i);
    if (t->way[i] == FROM_LOOP)
      say(t,
          "\n x%d = Loop (trips, go, q%d) <body = l%d (int64 i%d, bool d%d, v%d) => (f%d, w%d)"
          " { f%d = Identity (d%d) w%d = Identity (r%d) }>",
          i, i, i, i, i, i, i, i, i, i, i, i);
    if (t->way[i] == FROM_SEQUENCE)
      say(t, "\n s%d = SequenceConstruct (q%d, r%d) x%d = SequenceAt (s%d, one)", i, i, i, i, i);
  }
}

/* ---- the node, and what it stands in ---- */

static void say_outputs(const one_node_model *m, const char *prefix, const char *before, hostile_text *t) {
  for (int i = 0; i < m->n_out; i++) {
    if (m->out_left_out[i]) continue;
    say(t, "%s%s%d", before, prefix, i);
    before = ", ";
  }
}

static bool has_outputs(const one_node_model *m) {
  for (int i = 0; i < m->n_out; i++)
    if (!m->out_left_out[i]) return true;
  return false;
}

static void say_node(const one_node_model *m, const char *out, const char *in, hostile_text *t) {
  say(t, "\n ");
  for (int i = 0; i < m->n_out; i++) {
    if (i) say(t, ", ");
    if (m->out_left_out[i])
      say(t, "\"\"");
    else
      say(t, "%s%d", out, i);
  }
  say(t, " = %s ", m->op);
  for (int i = 0; i < m->n_attrs; i++)
    say(t, "%s%s = %s%s", i ? ", " : "<", m->attrs[i].name, m->attrs[i].text, i == m->n_attrs - 1 ? "> " : "");
  say(t, "(");
  for (int i = 0; i < m->n_in; i++) {
    if (i) say(t, ", ");
    if (m->in[i].left_out)
      say(t, "\"\"");
    else
      say(t, "%s%d", in, i);
  }
  say(t, ")");
}

static void say_branches(const one_node_model *m, bool taken, hostile_text *t) {
  say(t, "\n ");
  say_outputs(m, "y", "", t);
  say(t, " = If (c) <");
  for (int branch = 1; branch >= 0; branch--) {
    bool has_node = t->condition == branch ? taken : !taken;
    say(t, "%s = p%d () => (", branch ? "then_branch" : ", else_branch", branch);
    say_outputs(m, branch ? "u" : "k", "", t);
    say(t, ") {");
    if (has_node) say_node(m, branch ? "u" : "k", "x", t);
    for (int i = 0; i < m->n_out && !has_node; i++)
      if (!m->out_left_out[i]) say(t, " %s%d = Identity (c)", branch ? "u" : "k", i);
    say(t, "}");
  }
  say(t, ">");
}

static void say_loop(const one_node_model *m, hostile_text *t) {
  say(t, "\n ");
  say_outputs(m, "y", "", t);
  say(t, " = Loop (trips, go) <body = n (int64 j, bool g) => (h");
  say_outputs(m, "u", ", ", t);
  say(t, ") { h = Identity (g)");
  say_node(m, "u", "x", t);
  say(t, " }>");
}

static void say_call(const one_node_model *m, hostile_text *t) {
  say(t, "\n ");
  say_outputs(m, "y", "", t);
  say(t, " = local.F (");
  const char *before = "";
  for (int i = 0; i < m->n_in; i++) {
    if (m->in[i].left_out) continue;
    say(t, "%sx%d", before, i);
    before = ", ";
  }
  say(t, ")");
}

static void say_function(const one_node_model *m, const char *imports, hostile_text *t) {
  const char *before = "";
  say(t, "\n<domain: \"local\", opset_import: [%s]>\nF (", imports);
  for (int i = 0; i < m->n_in; i++) {
    if (m->in[i].left_out) continue;
    say(t, "%sx%d", before, i);
    before = ", ";
  }
  say(t, ") => (");
  say_outputs(m, "u", "", t);
  say(t, ") {");
  say_node(m, "u", "x", t);
  say(t, "\n}\n");
}

void hostile_write(const one_node_model *m, bool plain, rng *r, hostile_text *t) {
  char imports[240];
  bool ml = strncmp(m->op, "ai.onnx.ml.", 11) == 0, own = !ml && strchr(m->op, '.');
  t->n = 0, t->n_feeds = 0, t->full = false;
  t->place = plain || !has_outputs(m) || rng_below(r, 2) ? BARE : (hostile_place)rng_below(r, N_PLACES);
  snprintf(imports, sizeof imports,
           "\"\" : %d, \"ai.onnx.ml\" : %d, \"com.microsoft\" : 1, \"ai.onnx.preview.training\" : 1, \"local\" : 1",
           ml || own ? 21 : m->version, ml ? m->version : 5);
  choose_ways(m, plain, r, t);
  say(t, "<ir_version: 10, opset_import: [%s]>\ng (", imports);
  say_declarations(m, r, t);
  say_outputs(m, "y", ", ", t);
  say(t, ")\n");
  say_constants(m, r, t);
  say(t, " {\n z = Identity (c)");
  say_detours(m, t);
  switch (t->place) {
    case BRANCH_TAKEN:
    case BRANCH_NOT_TAKEN:
      say_branches(m, t->place == BRANCH_TAKEN, t);
      break;
    case IN_LOOP:
      say_loop(m, t);
      break;
    case IN_FUNCTION:
      say_call(m, t);
      break;
    default:
      say_node(m, "y", "x", t);
  }
  say(t, "\n}\n");
  if (t->place == IN_FUNCTION) say_function(m, imports, t);
  feed(t, "c", 0, &(hostile_value){.dtype = OX_BOOL, .n_values = 1, .values = {t->condition}});
  strcpy(t->feeds[t->n_feeds - 1].name, "c");
}
