/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum_test.c - equations against sums over all values of all labels, for floats and integers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static int64_t size_of(char c) { return c == 'z' ? 1 : c == 'y' ? 0 : 2 + (c * 7) % 5; }

typedef struct operand {
  char labels[8];
  int64_t dims[8];
  double *x;
  int rank;
} operand;

static double at(const operand *o, const int64_t *value) {
  int64_t i = 0;
  for (int d = 0; d < o->rank; d++) i = i * o->dims[d] + value[(int)o->labels[d]];
  return o->x[i];
}

/* Sum over every assignment of values to the labels in |free|. */
static double sum_over(const operand *ops, int n, const char *free_labels, int64_t *value) {
  if (!*free_labels) {
    double p = 1;
    for (int i = 0; i < n; i++) p *= at(&ops[i], value);
    return p;
  }
  double s = 0;
  for (int64_t v = 0; v < size_of(*free_labels); v++)
    value[(int)*free_labels] = v, s += sum_over(ops, n, free_labels + 1, value);
  return s;
}

static void check_equation(const char *equation, const char *const *terms, int n, const char *out, uint32_t type) {
  operand ops[4];
  int64_t value[128] = {0}, dims[8], count = 1;
  char rest[64] = "";
  one_node node;
  one_node_init(&node, "", "Einsum", 12, 1);
  one_node_str(&node, "equation", equation);
  node.run_tiles = 1;
  for (int i = 0; i < n; i++) {
    operand *o = &ops[i];
    o->rank = (int)strlen(terms[i]);
    memcpy(o->labels, terms[i], (size_t)o->rank + 1);
    int64_t total = 1;
    for (int d = 0; d < o->rank; d++) {
      char c = terms[i][d];
      total *= o->dims[d] = size_of(c);
      if (!strchr(out, c) && !strchr(rest, c)) rest[strlen(rest)] = c;
    }
    o->x = calloc((size_t)total + 1, 8);
    void *as = calloc((size_t)total + 1, 8);
    for (int64_t e = 0; e < total; e++) {
      o->x[e] = (double)((e * 7 + i) % 5) - 2;
      if (type == OX_F32)
        ((float *)as)[e] = (float)o->x[e];
      else if (type == OX_F64)
        ((double *)as)[e] = o->x[e];
      else
        ((int8_t *)as)[e] = (int8_t)o->x[e];
    }
    one_node_input(&node, type, o->rank, o->dims, as);
    free(as);
  }
  CHECK_OK(one_node_run(&node));
  int rank = (int)strlen(out);
  for (int d = 0; d < rank; d++) count *= dims[d] = size_of(out[d]);
  ox_shape want = ox_shape_of(rank, dims);
  assert_true(ox_shape_equal(&node.out[0].shape, &want));
  for (int64_t e = 0; e < count; e++) {
    int64_t r = e;
    for (int d = rank - 1; d >= 0; d--) value[(int)out[d]] = r % dims[d], r /= dims[d];
    double w = sum_over(ops, n, rest, value), got;
    if (type == OX_F32)
      got = (double)((float *)node.out[0].data)[e];
    else if (type == OX_F64)
      got = ((double *)node.out[0].data)[e];
    else
      got = ((int8_t *)node.out[0].data)[e], w = (double)(int8_t)(uint8_t)(int64_t)w;
    if (fabs(got - w) > 1e-4) fail_msg("%s %s: [%d] is %g, wanted %g", equation, ox_dtype_name(type), (int)e, got, w);
  }
  one_node_deinit(&node);
  for (int i = 0; i < n; i++) free(ops[i].x);
}

static void test_equations(void **state) {
  (void)state;
  static const struct {
    const char *equation, *terms[4], *out;
  } cases[] = {
      {"ij,jk->ik", {"ij", "jk"}, "ik"},
      {"ij,jk", {"ij", "jk"}, "ik"},
      {"bij,bjk->bik", {"bij", "bjk"}, "bik"},
      {"ii->i", {"ii"}, "i"},
      {"ii", {"ii"}, ""},
      {"ij->ji", {"ij"}, "ji"},
      {"ij->", {"ij"}, ""},
      {"i,j->ij", {"i", "j"}, "ij"},
      {",i->i", {"", "i"}, "i"},
      {"abc,cd,de->abe", {"abc", "cd", "de"}, "abe"},
      {"bhid,bhjd->bhij", {"bhid", "bhjd"}, "bhij"},
      {"bqhd,bkhd->bhqk", {"bqhd", "bkhd"}, "bhqk"},
      {"ab,bc->", {"ab", "bc"}, ""},
      {"ab,ac->a", {"ab", "ac"}, "a"},
      {"iij,jkk->ik", {"iij", "jkk"}, "ik"},
      {"a b , b c -> c a", {"ab", "bc"}, "ca"},
      {"az,zb->ab", {"az", "zb"}, "ab"},
      {"ay,yb->ab", {"ay", "yb"}, "ab"},
      {"ay->a", {"ay"}, "a"},
      {"ab,cd,ad->cb", {"ab", "cd", "ad"}, "cb"},
      {"ab,b,a,ac->c", {"ab", "b", "a", "ac"}, "c"},
      {"BA", {"BA"}, "AB"},
      {"", {""}, ""},
      {"...j,jk->...k", {"abj", "jk"}, "abk"},
      {"i...,...->i...", {"iab", "b"}, "iab"},
      {"...ab->...ba", {"ab"}, "ba"},
      {"abcd,abcd->abcd", {"abcd", "abcd"}, "abcd"},
      {"abcd,ab->abcd", {"abcd", "ab"}, "abcd"},
      {"abcd,cd->abcd", {"abcd", "cd"}, "abcd"},
      {"d,abcd->abcd", {"d", "abcd"}, "abcd"},
      {"abcd,zdz->abczd", {"abcd", "zdz"}, "abczd"},
      {"abc,def->abcdef", {"abc", "def"}, "abcdef"},
      {"a,bcdef->abcdef", {"a", "bcdef"}, "abcdef"},
      {"bcdef,a->abcdef", {"bcdef", "a"}, "abcdef"},
      {"ab,ba->ab", {"ab", "ba"}, "ab"},
      {"aab,b->ab", {"aab", "b"}, "ab"},
      {"bhwc,hkc->bhwk", {"bhwc", "hkc"}, "bhwk"},
      {"nchw,co->nohw", {"nchw", "co"}, "nohw"},
      {"nchw,co->nhwo", {"nchw", "co"}, "nhwo"},
      {"nchw,co->hwno", {"nchw", "co"}, "hwno"},
      {"awbch,awcd->awbdh", {"awbch", "awcd"}, "awbdh"},
      {"abc->ac", {"abc"}, "ac"},
      {"abc->bc", {"abc"}, "bc"},
      {"abcd->db", {"abcd"}, "db"},
      {"abcd->dbca", {"abcd"}, "dbca"},
      {"aabb->b", {"aabb"}, "b"},
      {"abab->ba", {"abab"}, "ba"},
      {"aza->z", {"aza"}, "z"},
      {"ayb->ba", {"ayb"}, "ba"},
      {"...a->a...", {"bca"}, "abc"},
  };
  static const uint32_t types[] = {OX_F32, OX_F64, OX_I8};
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      int n = 0;
      while (n < 4 && cases[i].terms[n]) n++;
      check_equation(cases[i].equation, cases[i].terms, n, cases[i].out, types[t]);
    }
}

static void test_bad_equations_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *equation, *text;
    ox_code code;
  } cases[] = {
      {"ij,jk->iz", "no operand has", OX_INVALID_MODEL},
      {"ij,jk->ii", "repeats", OX_INVALID_MODEL},
      {"ij", "fewer terms", OX_INVALID_MODEL},
      {"ij,jk,kl", "more terms", OX_INVALID_MODEL},
      {"ijk,jk", "3 labels", OX_INVALID_MODEL},
      {"i1,jk", "'1'", OX_INVALID_MODEL},
      {"ij,ik", "operand 1 has dimension 3", OX_SHAPE_MISMATCH},
      {"ij,jk-", "without", OX_INVALID_MODEL},
      {"......,jk", "two ellipses", OX_INVALID_MODEL},
  };
  float x[6] = {0};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    one_node n;
    one_node_init(&n, "", "Einsum", 12, 1);
    one_node_str(&n, "equation", cases[i].equation);
    one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x), one_node_input(&n, OX_F32, 2, (int64_t[]){3, 2}, x);
    CHECK_FAILS(one_node_run(&n), cases[i].code, cases[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equations),
      cmocka_unit_test(test_bad_equations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
