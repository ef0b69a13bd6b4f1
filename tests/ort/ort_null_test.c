/* SPDX-License-Identifier: Apache-2.0
 * Every slot of every table, called with nothing but zeros, in a process of its own: none may crash, and one that
 * returns a status refuses if it has a parameter that must be given. What the parameters are, ort_slots.inc says. */
#include <sys/wait.h>
#include <unistd.h>

#include "ort/client.h"

typedef struct slot_row {
  const char *table, *name;
  size_t at;   /* of the function in its table */
  bool status; /* it returns one */
  const char *directions;
} slot_row;

#define ROW(type, name, result, directions)           \
  {#type, #name, offsetof(type, name),                \
   _Generic((result(*)(void))0, OrtStatus * (*)(void) \
            : true, default                           \
            : false),                                 \
   directions},
static const slot_row rows[] = {
#define ORT_SLOT(slot, name, since, result, params, directions) ROW(OrtApi, name, result, directions)
#define ORT_EP_SLOT(slot, name, since, result, params, directions) ROW(OrtEpApi, name, result, directions)
#define ORT_EDITOR_SLOT(slot, name, since, result, params, directions) ROW(OrtModelEditorApi, name, result, directions)
#define ORT_COMPILE_SLOT(slot, name, since, result, params, directions) ROW(OrtCompileApi, name, result, directions)
#define ORT_INTEROP_SLOT(slot, name, since, result, params, directions) ROW(OrtInteropApi, name, result, directions)
#define ORT_PACKAGE_SLOT(slot, name, since, result, params, directions) \
  ROW(OrtModelPackageApi, name, result, directions)
#include "onyx/ort_slots.inc"
};

static const void *table_of(const char *name) {
  if (strcmp(name, "OrtEpApi") == 0) return ort()->GetEpApi();
  if (strcmp(name, "OrtModelEditorApi") == 0) return ort()->GetModelEditorApi();
  if (strcmp(name, "OrtCompileApi") == 0) return ort()->GetCompileApi();
  if (strcmp(name, "OrtInteropApi") == 0) return ort()->GetInteropApi();
  if (strcmp(name, "OrtModelPackageApi") == 0) return ort()->GetModelPackageApi();
  return ort();
}

/* What is right here as it is: the status is what was asked for; there is nothing to release. */
static bool is_fine(const char *name) {
  return strcmp(name, "CreateStatus") == 0 || strcmp(name, "ReleaseAvailableProviders") == 0;
}

/* Whether a parameter has to be given: a direction that is "in", "out" or "inout", without "?" or "[]". */
static bool needs_something(const char *directions) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", directions);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
    if (strcmp(word, "in") == 0 || strcmp(word, "out") == 0 || strcmp(word, "out0") == 0 || strcmp(word, "inout") == 0)
      return true;
  return false;
}

/* In a child: 0, or 1 if a status is missing. */
static int call_with_zeros(const slot_row *row) {
  typedef void *(*any)(long, long, long, long, long, long, long, long, long, long, long, long);
  any call;
  memcpy(&call, (const char *)table_of(row->table) + row->at, sizeof call);
  void *result = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  if (!row->status) return 0;
  bool refused = result != NULL;
  if (is_fine(row->name)) return 0;
  if (refused && ort()->GetErrorMessage(result)[0] == '\0') return 2;
  if (refused) ort()->ReleaseStatus(result);
  return needs_something(row->directions) && !refused ? 1 : 0;
}

static void test_no_slot_crashes_on_zeros(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's library does not check */
  size_t bad = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(call_with_zeros(&rows[i]));
    int status = 0;
    waitpid(child, &status, 0);
    const char *what = WIFSIGNALED(status)        ? "crashes"
                       : WEXITSTATUS(status) == 1 ? "accepts NULL for a parameter that must be given"
                       : WEXITSTATUS(status) == 2 ? "refuses without a word"
                       : WEXITSTATUS(status) != 0 ? "ends the process"
                                                  : NULL;
    if (what == NULL) continue;
    bad++;
    print_error("%s.%s %s\n", rows[i].table, rows[i].name, what);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_slot_crashes_on_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
