/* SPDX-License-Identifier: Apache-2.0
 * graph/deferred_const_test.c - constants that are computed later: not before somebody wants the whole; for good, or until the
 * last reader closes; the same bytes again. */
#include <string.h>

#include "graph/deferred_const.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static int made; /* how often */

static void add_up(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to) {
  for (int64_t i = 0; i < n; i++)
    ((unsigned char *)to)[i] = (unsigned char)(((const unsigned char *)from->data)[first + i] + *(const int *)arg);
  made++;
}

static void check(const void *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (((const unsigned char *)data)[i] != (unsigned char)(i * 7 + 5)) fail_msg("byte %zu of %zu is wrong", i, n);
}

static const ox_tensor *source(void) {
  static unsigned char bytes[5 << 20];
  static ox_tensor t = {.dtype = OX_U8, .data = bytes, .bytes = sizeof bytes};
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
  return &t;
}

enum { LEAST = 64 << 10 };
static const int five = 5;

static ox_status *add(ox_model *m, int64_t size, ox_id *v) {
  ox_shape shape = ox_shape_of(1, &size);
  return ox_deferred_add(m->graph, "w", OX_U8, &shape, source(), add_up, &five, v);
}

static void test_computed_when_wanted(void **state) {
  static const int64_t sizes[] = {0, 1, 4095, LEAST - 1, LEAST, LEAST + 1, 300001, 5 << 20};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(sizes); i++) {
    counting_alloc count = {.fail_at = -1};
    size_t n = (size_t)sizes[i];
    ox_model *m;
    ox_id v, other;
    made = 0;
    CHECK_OK(ox_model_create(counting_alloc_of(&count), NULL, &m));
    CHECK_OK(add(m, sizes[i], &v));
    CHECK_OK(ox_graph_add_const(m->graph, "other", source(), &other));
    assert_null(ox_deferred_of(m->graph, other));
    assert_null(ox_deferred_of(m->graph, OX_NONE));
    const ox_tensor *type = ox_graph_const_type(m->graph, v);
    assert_int_equal(type->bytes, n);
    assert_int_equal(type->shape.dim[0], n);
    ox_deferred *k = ox_deferred_of(m->graph, v);
    assert_int_equal(made, n < LEAST); /* a small one is an ordinary constant */
    assert_int_equal(k == NULL, n < LEAST);
    assert_int_equal(type->data == NULL, n >= LEAST);
    if (k) {
      const ox_tensor *t = ox_deferred_open(m, k);
      assert_ptr_equal(ox_deferred_open(m, k), t);
      check(t->data, n);
      ox_deferred_close(m, k);
      check(t->data, n); /* one reader is left */
      assert_int_equal(made, 1);
      ox_deferred_close(m, k);
#if defined(__linux__)
      assert_int_equal(((unsigned char *)t->data)[4096], 0); /* its pages are gone */
      check(ox_deferred_open(m, k)->data, n);
      assert_int_equal(made, 2);
      ox_deferred_close(m, k);
#endif
    }
    made = 0;
    check(ox_graph_const(m->graph, v)->data, n);
    check(ox_graph_init(m->graph, v)->data, n);
    assert_int_equal(made, n >= LEAST);
    if (k) { /* whoever asked may read it for good */
      ox_deferred_open(m, k), ox_deferred_close(m, k);
      check(ox_graph_const(m->graph, v)->data, n);
      assert_int_equal(made, 1);
    }
    ox_model_destroy(m);
    assert_int_equal(count.live, 0);
  }
}

static void test_bodies_see_it(void **state) {
  counting_alloc count = {.fail_at = -1};
  ox_model *m;
  ox_graph *body;
  ox_id v, inner;
  (void)state;
  CHECK_OK(ox_model_create(counting_alloc_of(&count), NULL, &m));
  CHECK_OK(add(m, LEAST, &v));
  CHECK_OK(ox_graph_create(m, m->graph, "body", &body));
  CHECK_OK(ox_graph_resolve(body, "w", false, &inner));
  assert_ptr_equal(ox_deferred_of(body, inner), ox_deferred_of(m->graph, v));
  check(ox_graph_const(body, inner)->data, LEAST);
  ox_model_destroy(m);
  assert_int_equal(count.live, 0);
}

static void test_without_memory(void **state) {
  (void)state;
  bool ok = false;
  for (long at = 0; !ok; at++) {
    counting_alloc count = {.fail_at = at};
    ox_model *m = NULL;
    ox_id v;
    ox_status *st = ox_model_create(counting_alloc_of(&count), NULL, &m);
    if (!st) st = add(m, 1 << 20, &v);
    ok = !st;
    if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
    ox_model_destroy(m);
    assert_int_equal(count.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_computed_when_wanted), cmocka_unit_test(test_bodies_see_it),
                                     cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
