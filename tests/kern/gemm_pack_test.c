/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm_pack_test.c - the units of packing, each from the elements that it says it reads and no others, make the
 * panels that packing at once makes. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/gemm/gemm.h"
#include "support/check.h"
#include "support/levels.h"

static const struct row {
  const char *name;
  size_t k, n;
} rows[] = {
    {"one", 1, 1},      {"a row", 1, 70},   {"a column", 70, 1}, {"small", 17, 33}, {"several units", 200, 96},
    {"long", 4500, 40}, {"wide", 40, 5000}, {"wider", 17, 9000},
};

static void check_units(const ox_gemm_variant *v, const struct row *r, bool trans) {
  size_t count = r->k * r->n, bytes = ox_gemm_b_bytes(v, r->k, r->n), first, n;
  uint16_t *b = malloc(count * 4);
  char *want = aligned_alloc(64, OX_ROUND_UP(bytes, (size_t)64)),
       *got = aligned_alloc(64, OX_ROUND_UP(bytes, (size_t)64));
  uint32_t seed = 3;
  size_t elem = v->panel == OX_F32 ? 4 : 2;
  for (size_t i = 0; i < count * 2; i++) b[i] = (uint16_t)test_random(&seed);
  ox_gemm_src src = {b, v->panel, trans ? 1 : (ptrdiff_t)r->n, trans ? (ptrdiff_t)r->k : 1};
  memset(want, 1, bytes), memset(got, 1, bytes);
  ox_gemm_pack_b(v, &src, r->k, r->n, 0, ox_gemm_panels(v, r->n), want, NULL);
  for (size_t u = 0; u < ox_gemm_pack_units(v, &src, r->k, r->n); u++) {
    ox_gemm_pack_unit_span(v, &src, r->k, r->n, u, &first, &n);
    assert_true(first + n <= count);
    char *piece = malloc(n * elem); /* a tool that watches memory sees what lies outside */
    ox_gemm_src part = src;
    memcpy(piece, (const char *)b + first * elem, n * elem), part.p = piece;
    ox_gemm_pack_unit(v, &part, first, r->k, r->n, u, got);
    free(piece);
  }
  if (memcmp(want, got, bytes)) fail_msg("%s, %s%s: other panels", v->name, r->name, trans ? ", transposed" : "");
  free(b), free(want), free(got);
}

static void test_units_make_the_panels(void **state) {
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      const ox_gemm_variant *v = ox_gemm_select(types[t], test_levels[l].have);
      for (size_t i = 0; i < OX_COUNT(rows); i++) check_units(v, &rows[i], false), check_units(v, &rows[i], true);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_units_make_the_panels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
