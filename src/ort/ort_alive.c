/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_alive.c - see ort_alive.h. */
#include "ort/ort_alive.h"

OrtStatus *ort_bad_handle(const char *function, const char *argument, const void *handle) {
  if (handle == NULL) return ort_null_argument(function, argument);
  return ort_fail(ORT_INVALID_ARGUMENT, "%s: '%s' was released, or is a handle of another kind", function, argument);
}
