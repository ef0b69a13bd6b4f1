/* SPDX-License-Identifier: Apache-2.0
 * session/random_seed_test.c - with the same seed the same random numbers come, without one others. */
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/text_session.h"

enum { N = 64 };
static const char model[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[64] y) { y = RandomNormal <shape = [64]> () }";

static void draw(ox_session *s, float out[N]) {
  ox_value *y = NULL;
  CHECK_OK(ox_session_run(s, NULL, NULL, NULL, 0, NULL, &y, 1));
  memcpy(out, ox_value_data(y), N * sizeof *out);
  ox_value_release(y);
}

static void test_a_seed_brings_numbers_back(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  float a[2][N], b[2][N];
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, model, NULL, &s));
  for (uint64_t seed = 0; seed < 3; seed++) {
    ox_random_seed(seed);
    draw(s, a[0]), draw(s, a[1]);
    assert_memory_not_equal(a[0], a[1], sizeof a[0]);
    draw(s, b[0]);
    ox_random_seed(seed);
    draw(s, b[0]), draw(s, b[1]);
    assert_memory_equal(a, b, sizeof a);
    ox_random_seed(seed + 1);
    draw(s, b[0]);
    assert_memory_not_equal(a[0], b[0], sizeof a[0]);
  }
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_seed_brings_numbers_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
