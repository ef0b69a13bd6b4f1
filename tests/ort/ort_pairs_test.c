/* SPDX-License-Identifier: Apache-2.0
 * OrtKeyValuePairs: order, replacing, removing, what is ignored. */
#include "ort/client.h"

static void expect(const OrtKeyValuePairs *pairs, const char *want) {
  const char *const *keys, *const *values;
  size_t n;
  char got[256] = "";
  ort()->GetKeyValuePairs(pairs, &keys, &values, &n);
  for (size_t i = 0; i < n; i++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s=%s", i > 0 ? " " : "", keys[i], values[i]);
  assert_string_equal(got, want);
}

static void test_pairs_keep_their_order(void **state) {
  (void)state;
  OrtKeyValuePairs *p = NULL;
  ort()->CreateKeyValuePairs(&p);
  assert_non_null(p);
  expect(p, "");
  ort()->AddKeyValuePair(p, "z", "1");
  ort()->AddKeyValuePair(p, "a", "2");
  ort()->AddKeyValuePair(p, "m", "");
  expect(p, "z=1 a=2 m=");
  ort()->RemoveKeyValuePair(p, "a");
  ort()->RemoveKeyValuePair(p, "none");
  expect(p, "z=1 m=");
  ort()->AddKeyValuePair(p, "a", "3");
  expect(p, "z=1 m= a=3");
  assert_string_equal(ort()->GetKeyValue(p, "a"), "3");
  assert_null(ort()->GetKeyValue(p, "none"));
  ort()->ReleaseKeyValuePairs(p);
}

static void test_a_new_value_replaces_the_old(void **state) {
  (void)state;
  OrtKeyValuePairs *p = NULL;
  ort()->CreateKeyValuePairs(&p);
  ort()->AddKeyValuePair(p, "a", "1");
  ort()->AddKeyValuePair(p, "b", "2");
  ort()->AddKeyValuePair(p, "a", "a longer value than the one before");
  expect(p, "a=a longer value than the one before b=2");
  ort()->AddKeyValuePair(p, "a", ort()->GetKeyValue(p, "b")); /* its own text */
  ort()->AddKeyValuePair(p, "b", "3");
  expect(p, "a=2 b=3");
  ort()->ReleaseKeyValuePairs(p);
}

static void test_keys_that_are_none_are_ignored(void **state) {
  (void)state;
  OrtKeyValuePairs *p = NULL;
  ort()->CreateKeyValuePairs(&p);
  ort()->AddKeyValuePair(p, "", "x");
  ort()->AddKeyValuePair(p, NULL, "x");
  ort()->AddKeyValuePair(p, "x", NULL);
  expect(p, "");
  ort()->ReleaseKeyValuePairs(p);
  ort()->ReleaseKeyValuePairs(NULL);
  if (!ort_is_onyx()) return; /* Microsoft's crashes */
  const char *const *keys = NULL;
  size_t n = 7;
  ort()->CreateKeyValuePairs(NULL);
  ort()->AddKeyValuePair(NULL, "a", "b");
  ort()->RemoveKeyValuePair(NULL, "a");
  assert_null(ort()->GetKeyValue(NULL, "a"));
  ort()->GetKeyValuePairs(NULL, &keys, NULL, &n);
  assert_int_equal(n, 0);
}

static void test_many_pairs(void **state) {
  (void)state;
  OrtKeyValuePairs *p = NULL;
  ort()->CreateKeyValuePairs(&p);
  char key[16];
  for (int i = 0; i < 100; i++) {
    snprintf(key, sizeof key, "key%d", i);
    ort()->AddKeyValuePair(p, key, key + 3);
  }
  for (int i = 0; i < 100; i += 2) {
    snprintf(key, sizeof key, "key%d", i);
    ort()->RemoveKeyValuePair(p, key);
  }
  const char *const *keys, *const *values;
  size_t n;
  ort()->GetKeyValuePairs(p, &keys, &values, &n);
  assert_int_equal(n, 50);
  for (int i = 0; i < 50; i++) {
    snprintf(key, sizeof key, "key%d", 2 * i + 1);
    assert_string_equal(keys[i], key);
    assert_string_equal(values[i], key + 3);
  }
  ort()->ReleaseKeyValuePairs(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs_keep_their_order),
      cmocka_unit_test(test_a_new_value_replaces_the_old),
      cmocka_unit_test(test_keys_that_are_none_are_ignored),
      cmocka_unit_test(test_many_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
