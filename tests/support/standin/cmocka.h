/* SPDX-License-Identifier: Apache-2.0
 * standin/cmocka.h - as much of cmocka's interface as the tests of the task pool, of kernels and operators, and of
 * devices' drivers use, where nothing but a C compiler is there. A failed check ends the program, so checks work on any
 * thread. */
#ifndef OX_TESTS_STANDIN_CMOCKA_H
#define OX_TESTS_STANDIN_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);
struct CMUnitTest {
  const char *name;
  CMUnitTestFunction test;
  CMFixtureFunction setup, teardown;
  void *initial_state;
};
#define cmocka_unit_test(test) \
  { #test, test, NULL, NULL, NULL }
#define cmocka_unit_test_prestate(test, state) \
  { #test, test, NULL, NULL, state }

typedef struct standin_test {
  const char *name;
  int skipped;
} standin_test;
static standin_test standin_now;

#define fail_msg(...)                                                        \
  do {                                                                       \
    printf("[  ERROR   ] %s:%d: ", __FILE__, __LINE__);                      \
    printf(__VA_ARGS__);                                                     \
    printf("\n[  FAILED  ] %s\n", standin_now.name ? standin_now.name : ""); \
    fflush(stdout);                                                          \
    _Exit(1);                                                                \
  } while (0)
#define fail() fail_msg("fail()")
#define print_error(...) fprintf(stderr, __VA_ARGS__)
/* Only in the test function itself. */
#define skip()               \
  do {                       \
    standin_now.skipped = 1; \
    return;                  \
  } while (0)

#define assert_true(x)                      \
  do {                                      \
    if (!(x)) fail_msg("not true: %s", #x); \
  } while (0)
#define assert_false(x) assert_true(!(x))
#define assert_null(p) assert_true((p) == NULL)
#define assert_non_null(p) assert_true((p) != NULL)
#define assert_string_equal(a, b) assert_true(strcmp((a), (b)) == 0)
#define assert_memory_equal(a, b, n) assert_true(memcmp((a), (b), (n)) == 0)
#define assert_string_not_equal(a, b) assert_true(strcmp((a), (b)) != 0)
#define assert_memory_not_equal(a, b, n) assert_true(memcmp((a), (b), (n)) != 0)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b) assert_true((const void *)(a) != (const void *)(b))
#define assert_int_equal(a, b)                                                                         \
  do {                                                                                                 \
    unsigned long long standin_a = (unsigned long long)(a), standin_b = (unsigned long long)(b);       \
    if (standin_a != standin_b) fail_msg("%s is %llu, wanted %s, %llu", #a, standin_a, #b, standin_b); \
  } while (0)
#define assert_float_equal(a, b, most)                                                            \
  do {                                                                                            \
    double standin_d = (double)(a) - (double)(b);                                                 \
    if (!(standin_d <= (most) && -standin_d <= (most))) fail_msg("%s is not near to %s", #a, #b); \
  } while (0)
#define assert_in_range(x, least, most)                                                                \
  do {                                                                                                 \
    unsigned long long standin_x = (unsigned long long)(x), standin_low = (unsigned long long)(least); \
    if (standin_x - standin_low > (unsigned long long)(most)-standin_low)                              \
      fail_msg("%s is %llu, wanted %s to %s", #x, standin_x, #least, #most);                           \
  } while (0)

#define cmocka_run_group_tests(tests, setup, teardown) \
  standin_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define _cmocka_run_group_tests(name, tests, n, setup, teardown) standin_run(tests, n, setup, teardown)
static inline int standin_run(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                              CMFixtureFunction teardown) {
  void *group = NULL;
  if (setup && setup(&group)) return 1;
  for (size_t i = 0; i < n; i++) {
    void *state = tests[i].initial_state ? tests[i].initial_state : group;
    standin_now = (standin_test){tests[i].name, 0};
    printf("[ RUN      ] %s\n", tests[i].name);
    fflush(stdout); /* a forked child must not print it again */
    if (tests[i].setup) tests[i].setup(&state);
    tests[i].test(&state);
    if (tests[i].teardown) tests[i].teardown(&state);
    printf(standin_now.skipped ? "[  SKIPPED ] %s\n" : "[       OK ] %s\n", tests[i].name);
    fflush(stdout);
  }
  return teardown ? teardown(&group) : 0;
}

#endif
