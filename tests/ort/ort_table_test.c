/* SPDX-License-Identifier: Apache-2.0
 * The tables of ONNX Runtime's ABI: every slot at its place, none NULL, versions as clients expect. */
#include "ort/client.h"

#define ORT_MEMBER(type, member, offset, size)                           \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member); \
  _Static_assert(sizeof(((type *)NULL)->member) == (size), #type "." #member);
#define ORT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type);
#include "ort/ort_layout.inc"

#define AT(type, slot, name) _Static_assert(offsetof(type, name) == (slot) * sizeof(void *), #name);
#define ORT_SLOT(slot, name, since, result, params, directions) AT(OrtApi, slot, name)
#define ORT_EP_SLOT(slot, name, since, result, params, directions) AT(OrtEpApi, slot, name)
#define ORT_EDITOR_SLOT(slot, name, since, result, params, directions) AT(OrtModelEditorApi, slot, name)
#define ORT_COMPILE_SLOT(slot, name, since, result, params, directions) AT(OrtCompileApi, slot, name)
#define ORT_INTEROP_SLOT(slot, name, since, result, params, directions) AT(OrtInteropApi, slot, name)
#define ORT_PACKAGE_SLOT(slot, name, since, result, params, directions) AT(OrtModelPackageApi, slot, name)
#include "onyx/ort_slots.inc"

static void test_every_version_up_to_the_newest_is_the_whole_table(void **state) {
  (void)state;
  const OrtApi *newest = ort_base()->GetApi(ORT_API_VERSION);
  assert_non_null(newest);
  for (uint32_t v = 1; v <= ORT_API_VERSION; v++) assert_ptr_equal(ort_base()->GetApi(v), newest);
  assert_null(ort_base()->GetApi(0));
  assert_null(ort_base()->GetApi(UINT32_MAX));
}

static void test_the_version_string_names_the_newest_version(void **state) {
  (void)state;
  unsigned major, minor, patch;
  assert_int_equal(sscanf(ort_base()->GetVersionString(), "%u.%u.%u", &major, &minor, &patch), 3);
  assert_int_equal(major, 1);
  assert_true(minor >= ORT_API_VERSION);
}

static void test_no_slot_is_null(void **state) {
  (void)state;
  const void *const tables[] = {ort(),
                                ort()->GetEpApi(),
                                ort()->GetModelEditorApi(),
                                ort()->GetCompileApi(),
                                ort()->GetInteropApi(),
                                ort()->GetModelPackageApi()};
  static const size_t bytes[] = {sizeof(OrtApi),        sizeof(OrtEpApi),      sizeof(OrtModelEditorApi),
                                 sizeof(OrtCompileApi), sizeof(OrtInteropApi), sizeof(OrtModelPackageApi)};
  for (size_t t = 0; t < sizeof bytes / sizeof *bytes; t++) {
    assert_non_null(tables[t]);
    for (size_t i = 0; i < bytes[t] / sizeof(void *); i++)
      if (((void *const *)tables[t])[i] == NULL) fail_msg("table %zu, slot %zu is NULL", t, i);
  }
}

/* Version 31 has no models in packages here: a call says so, with its name. */
static void test_what_is_not_served_says_so(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  int64_t version;
  FAILS(ort()->GetModelPackageApi()->ModelPackage_GetSchemaVersion(NULL, &version), ORT_NOT_IMPLEMENTED,
        "OrtModelPackageApi.ModelPackage_GetSchemaVersion");
  ort()->GetModelPackageApi()->ReleaseModelPackageContext(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_version_up_to_the_newest_is_the_whole_table),
      cmocka_unit_test(test_the_version_string_names_the_newest_version),
      cmocka_unit_test(test_no_slot_is_null),
      cmocka_unit_test(test_what_is_not_served_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
