/* SPDX-License-Identifier: Apache-2.0
 * exec/profile_test.c - the trace: a line of JSON per event, whatever names a model and its providers chose. */
#include "exec/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

static const ox_profile_event events[] = {
    {.name = "first", .op = "Relu", .provider = "cpu", .start_ns = 1500, .duration_ns = 250, .out_bytes = 16},
    {.name = "", .op = "Odd\"op\\", .provider = "p\"\n", .start_ns = 9007199254740993, .duration_ns = 0, .thread = 7},
    {.name = "\x01\xff", .op = "Neg", .provider = "cpu", .out_bytes = UINT64_MAX},
};

static const char *const lines[] = {
    "{\"name\": \"first\", \"cat\": \"Relu\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 1.5, \"dur\": 0.25, "
    "\"args\": {\"provider\": \"cpu\", \"bytes\": 16}}",
    "{\"name\": \"Odd\\\"op\\\\\", \"cat\": \"Odd\\\"op\\\\\", \"ph\": \"X\", \"pid\": 1, \"tid\": 7, "
    "\"ts\": 9007199254740.992, \"dur\": 0, \"args\": {\"provider\": \"p\\\"\\n\", \"bytes\": 0}}",
    "{\"name\": \"\\u0001\xef\xbf\xbd\", \"cat\": \"Neg\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 0, \"dur\": "
    "0, "
    "\"args\": {\"provider\": \"cpu\", \"bytes\": 18446744073709551615}}",
};

static void check_trace(size_t n) {
  char path[] = "/tmp/onyx-trace-XXXXXX", want[2048] = "[", got[2048] = "";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  ox_profile *p;
  CHECK_OK(ox_profile_create(ox_alloc_heap(), &p));
  for (size_t i = 0; i < n; i++) {
    ox_profile_add(p, &events[i]);
    strcat(strcat(want, i ? ",\n" : "\n"), lines[i]);
  }
  strcat(want, "]\n");
  CHECK_OK(ox_profile_write_trace(p, path));
  assert_true(read(fd, got, sizeof got - 1) > 0);
  assert_string_equal(got, want);
  ox_profile_destroy(p);
  close(fd);
  remove(path);
}

static void test_trace(void **state) {
  (void)state;
  for (size_t n = 0; n <= OX_COUNT(events); n++) check_trace(n);
}

static void test_a_file_that_cannot_be_written(void **state) {
  (void)state;
  ox_profile *p;
  CHECK_OK(ox_profile_create(ox_alloc_heap(), &p));
  CHECK_FAILS(ox_profile_write_trace(p, "/nowhere/trace.json"), OX_FAIL, "/nowhere/trace.json");
  if (access("/dev/full", W_OK) == 0)
    CHECK_FAILS(ox_profile_write_trace(p, "/dev/full"), OX_FAIL, "/dev/full: writing failed");
  ox_profile_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trace),
                                     cmocka_unit_test(test_a_file_that_cannot_be_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
