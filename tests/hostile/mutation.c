/* SPDX-License-Identifier: Apache-2.0
 * hostile/mutation.c - see mutation.h. */
#include "hostile/mutation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const int64_t odd_ints[] = {0,
                                   1,
                                   -1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   16,
                                   31,
                                   32,
                                   63,
                                   64,
                                   255,
                                   256,
                                   65535,
                                   65536,
                                   INT32_MAX,
                                   INT32_MIN,
                                   1LL << 31,
                                   (1LL << 31) + 1,
                                   1LL << 32,
                                   1LL << 40,
                                   1LL << 61,
                                   1LL << 62,
                                   INT64_MAX,
                                   INT64_MIN,
                                   -2,
                                   -3,
                                   -65536,
                                   1000000,
                                   -(1LL << 40),
                                   INT64_MAX - 1};
static const double odd_floats[] = {0,     -0.0,  1,     -1,           0.5,           1e30,   -1e30,   3.5e38, 1e-40,
                                    1e300, 65504, 65536, 2147483648.0, -2147483649.0, 9.3e18, -9.3e18, 1e-300};

static int64_t odd_int(rng *r) { return odd_ints[rng_below(r, OX_COUNT(odd_ints))]; }

static double odd_float(rng *r) {
  uint32_t i = rng_below(r, OX_COUNT(odd_floats) + 3);
  if (i < OX_COUNT(odd_floats)) return odd_floats[i];
  return i == OX_COUNT(odd_floats) ? (double)NAN : i == OX_COUNT(odd_floats) + 1 ? (double)INFINITY : -(double)INFINITY;
}

static hostile_value *some_input(one_node_model *m, rng *r) {
  return m->n_in ? &m->in[rng_below(r, (uint32_t)m->n_in)] : NULL;
}

/* ---- inputs ---- */

static bool another_dtype(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out) return false;
  v->dtype = 1 + rng_below(r, OX_DTYPE_COUNT - 1);
  return true;
}

static bool another_kind(one_node_model *m, rng *r, hostile_seeds seeds) {
  static const uint32_t kinds[] = {OX_SEQUENCE, OX_NONE_VALUE, OX_SPARSE, OX_TENSOR};
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out) return false;
  v->wrapped = kinds[rng_below(r, OX_COUNT(kinds))];
  return true;
}

static bool another_rank(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out) return false;
  int rank = (int)rng_below(r, 8) == 0 ? (int)rng_below(r, OX_MAX_RANK + 1) : v->rank + (rng_below(r, 2) ? 1 : -1);
  rank = OX_MIN(OX_MAX(rank, 0), OX_MAX_RANK);
  for (int i = v->rank; i < rank; i++) v->dim[i] = 1 + (int64_t)rng_below(r, 3);
  v->rank = rank;
  return true;
}

static bool another_dim(one_node_model *m, rng *r, hostile_seeds seeds) {
  static const int64_t dims[] = {0, 1, 2, 3, 4, 5, 7, 16, 17, 33, 64, 100, 255, 1000};
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out || !v->rank) return false;
  int64_t *d = &v->dim[rng_below(r, (uint32_t)v->rank)];
  if (rng_below(r, 2))
    *d += rng_below(r, 2) && *d < INT64_MAX ? 1 : -1; /* an earlier mutation may have made it huge */
  else
    *d = dims[rng_below(r, OX_COUNT(dims))];
  *d = OX_MAX(*d, 0);
  return true;
}

/* No element, and other dimensions that no memory could hold. */
static bool huge_and_empty(one_node_model *m, rng *r, hostile_seeds seeds) {
  static const int64_t huge[] = {1LL << 31, 1LL << 32, 1LL << 40, 1LL << 61, 1LL << 62, INT64_MAX, 65536, 1 << 20};
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out || !v->rank) return false;
  uint32_t zero = rng_below(r, (uint32_t)v->rank), all = rng_below(r, 2);
  for (int i = 0; i < v->rank; i++)
    if (all || rng_below(r, 2)) v->dim[i] = huge[rng_below(r, OX_COUNT(huge))];
  v->dim[zero] = 0;
  return true;
}

static bool all_empty(one_node_model *m, rng *r, hostile_seeds seeds) {
  (void)seeds;
  for (int i = 0; i < m->n_in; i++)
    if (m->in[i].rank) m->in[i].dim[rng_below(r, (uint32_t)m->in[i].rank)] = 0;
  return m->n_in > 0;
}

static bool left_out(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (v) v->left_out = true;
  return v != NULL;
}

static bool number_of_inputs(one_node_model *m, rng *r, hostile_seeds seeds) {
  const one_node_model *other = &seeds.all[rng_below(r, seeds.n)];
  if (m->n_in && rng_below(r, 2)) {
    m->n_in--;
  } else {
    if (m->n_in == MOST_IN || !other->n_in) return false;
    m->in[m->n_in++] = other->in[rng_below(r, (uint32_t)other->n_in)];
  }
  return true;
}

static bool input_of_another(one_node_model *m, rng *r, hostile_seeds seeds) {
  const one_node_model *other = &seeds.all[rng_below(r, seeds.n)];
  hostile_value *v = some_input(m, r);
  if (!v || !other->n_in) return false;
  *v = other->in[rng_below(r, (uint32_t)other->n_in)];
  return true;
}

static bool swapped(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_value *a = some_input(m, r), *b = some_input(m, r);
  (void)seeds;
  if (a == b) return false;
  hostile_value t = *a;
  *a = *b, *b = t;
  return true;
}

/* ---- values ---- */

static bool odd_value(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_value *v = some_input(m, r);
  (void)seeds;
  if (!v || v->left_out || hostile_count(v) <= 0) return false;
  bool whole = v->dtype != OX_F32 && v->dtype != OX_F64 && v->dtype != OX_F16 && v->dtype != OX_BF16;
  bool all = rng_below(r, 3) == 0;
  double with = whole ? (double)odd_int(r) : odd_float(r);
  if (!v->n_values) v->n_values = (int)OX_MIN(hostile_count(v), MOST_VALUES);
  uint32_t at = rng_below(r, (uint32_t)v->n_values);
  for (uint32_t i = 0; i < (uint32_t)v->n_values; i++)
    if (all || i == at) v->values[i] = with;
  return true;
}

/* ---- attributes ---- */

static hostile_attr *some_attr(one_node_model *m, rng *r) {
  return m->n_attrs ? &m->attrs[rng_below(r, (uint32_t)m->n_attrs)] : NULL;
}

/* One of the numbers in the attribute's text, or all of it if there is none. */
static bool odd_attr(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_attr *a = some_attr(m, r);
  (void)seeds;
  if (!a) return false;
  char with[64], text[MOST_ATTR_TEXT];
  bool number = strchr("0123456789-+.[", a->text[0]) != NULL, is_float = strpbrk(a->text, ".e") != NULL;
  if (!number) {
    static const char *const words[] = {"\"\"", "\"x\"", "\"\\xff\"",
                                        "\"nearest_and_a_very_long_word_that_nobody_knows\""};
    if (a->text[0] != '"') return false;
    strcpy(a->text, words[rng_below(r, OX_COUNT(words))]);
    return true;
  }
  double f = odd_float(r);
  if (!is_float)
    snprintf(with, sizeof with, "%lld", (long long)odd_int(r));
  else if (f != f || f - f != 0)
    snprintf(with, sizeof with, f != f ? "nan" : f < 0 ? "-inf" : "inf");
  else
    snprintf(with, sizeof with, "%.9e", f);
  char *p = a->text[0] == '[' ? a->text + 1 : a->text;
  for (uint32_t steps = rng_below(r, 4); steps && strchr(p, ','); steps--) p = strchr(p, ',') + 1;
  size_t n = strcspn(p, ",]");
  if ((size_t)snprintf(text, sizeof text, "%.*s%s%s", (int)(p - a->text), a->text, with, p + n) >= sizeof text)
    return false;
  strcpy(a->text, text);
  return true;
}

static bool list_length(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_attr *a = some_attr(m, r);
  (void)seeds;
  if (!a || a->text[0] != '[' || strlen(a->text) + 40 > sizeof a->text) return false;
  char *end = strrchr(a->text, ']'), *comma = strrchr(a->text, ',');
  if (!end) return false;
  bool words = strchr(a->text, '"') != NULL;
  if (rng_below(r, 2) && comma)
    strcpy(comma, "]");
  else
    strcpy(end, words ? ", \"more\"]" : strchr(a->text, '.') ? ", 1.5]" : ", 1]");
  return true;
}

static bool attr_kind(one_node_model *m, rng *r, hostile_seeds seeds) {
  static const char *const texts[] = {
      "1", "[1, 2]", "1.5", "[0.5]", "\"text\"", "[\"a\", \"b\"]", "float[2] {1, 2}", "int64[0] {}"};
  hostile_attr *a = some_attr(m, r);
  (void)seeds;
  if (a) strcpy(a->text, texts[rng_below(r, OX_COUNT(texts))]);
  return a != NULL;
}

static bool attr_gone(one_node_model *m, rng *r, hostile_seeds seeds) {
  hostile_attr *a = some_attr(m, r);
  (void)seeds;
  if (a) *a = m->attrs[--m->n_attrs];
  return a != NULL;
}

static bool attr_of_another(one_node_model *m, rng *r, hostile_seeds seeds) {
  const one_node_model *other = &seeds.all[rng_below(r, seeds.n)];
  if (!other->n_attrs || m->n_attrs == MOST_ATTRS) return false;
  m->attrs[m->n_attrs++] = other->attrs[rng_below(r, (uint32_t)other->n_attrs)];
  return true;
}

/* ---- the node ---- */

static bool output_left_out(one_node_model *m, rng *r, hostile_seeds seeds) {
  (void)seeds;
  if (!m->n_out) return false;
  m->out_left_out[rng_below(r, (uint32_t)m->n_out)] = true;
  return true;
}

static bool number_of_outputs(one_node_model *m, rng *r, hostile_seeds seeds) {
  (void)seeds;
  m->n_out = (int)rng_below(r, MOST_OUT + 1);
  if (m->n_out && rng_below(r, 2)) m->out_left_out[0] = true;
  return true;
}

static bool another_version(one_node_model *m, rng *r, hostile_seeds seeds) {
  (void)seeds;
  m->version = 1 + (int)rng_below(r, 29);
  return true;
}

static bool another_operator(one_node_model *m, rng *r, hostile_seeds seeds) {
  const one_node_model *other = &seeds.all[rng_below(r, seeds.n)];
  strcpy(m->op, other->op);
  m->version = other->version;
  return true;
}

typedef bool (*mutate_fn)(one_node_model *m, rng *r, hostile_seeds seeds);

static const struct {
  const char *name;
  mutate_fn apply;
  uint32_t weight;
} mutations[] = {
    {"another dtype", another_dtype, 6},
    {"another kind", another_kind, 2},
    {"another rank", another_rank, 4},
    {"another dimension", another_dim, 6},
    {"huge and empty", huge_and_empty, 4},
    {"all empty", all_empty, 1},
    {"input left out", left_out, 2},
    {"number of inputs", number_of_inputs, 2},
    {"input of another", input_of_another, 3},
    {"swapped inputs", swapped, 2},
    {"odd value", odd_value, 8},
    {"odd attribute", odd_attr, 8},
    {"length of a list", list_length, 3},
    {"kind of attribute", attr_kind, 2},
    {"attribute gone", attr_gone, 2},
    {"attribute of another", attr_of_another, 2},
    {"output left out", output_left_out, 3},
    {"number of outputs", number_of_outputs, 2},
    {"another version", another_version, 2},
    {"another operator", another_operator, 3},
};

const char *hostile_mutate(one_node_model *m, rng *r, hostile_seeds seeds) {
  uint32_t all = 0;
  for (size_t i = 0; i < OX_COUNT(mutations); i++) all += mutations[i].weight;
  for (int attempt = 0; attempt < 20; attempt++) {
    uint32_t at = rng_below(r, all);
    size_t i = 0;
    while (at >= mutations[i].weight) at -= mutations[i++].weight;
    if (mutations[i].apply(m, r, seeds)) return mutations[i].name;
  }
  return "none";
}
