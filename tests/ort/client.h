/* SPDX-License-Identifier: Apache-2.0
 * ort/client.h - a client of ONNX Runtime's C ABI that knows nothing of who serves it: ORT_LIB names the library, ours
 * or Microsoft's. */
#ifndef OX_TESTS_ORT_CLIENT_H
#define OX_TESTS_ORT_CLIENT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "onyx/ort_ep.h"

/* The library's base; loaded once, never unloaded. */
static inline const OrtApiBase *ort_base(void) {
  static const OrtApiBase *base;
  if (base != NULL) return base;
  const char *path = getenv("ORT_LIB");
  void *lib = dlopen(path != NULL ? path : "build/lib/libonnxruntime.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) fail_msg("%s", dlerror());
  const OrtApiBase *(*get)(void) = (const OrtApiBase *(*)(void))(uintptr_t)dlsym(lib, "OrtGetApiBase");
  assert_non_null(get);
  base = get();
  return base;
}

static inline const OrtApi *ort(void) {
  const OrtApi *api = ort_base()->GetApi(ORT_API_VERSION);
  assert_non_null(api);
  return api;
}

/* Whether the library is ours: Microsoft's differs where it has a defect, or where a text is its own. */
static inline bool ort_is_onyx(void) { return strstr(ort()->GetBuildInfoString(), "Onyx") != NULL; }

/* A call that has to succeed. */
#define OK(call)                                                                                           \
  do {                                                                                                     \
    OrtStatus *st_ = (call);                                                                               \
    if (st_ != NULL) fail_msg("%s: %d, %s", #call, ort()->GetErrorCode(st_), ort()->GetErrorMessage(st_)); \
  } while (0)

/* A call that has to fail with |want_code|, and a text that has |part| in it (on our library; "" for any). */
#define FAILS(call, want_code, part)                                                             \
  do {                                                                                           \
    OrtStatus *st_ = (call);                                                                     \
    if (st_ == NULL) fail_msg("%s succeeded", #call);                                            \
    if (ort()->GetErrorCode(st_) != (want_code))                                                 \
      fail_msg("%s: code %d, %s", #call, ort()->GetErrorCode(st_), ort()->GetErrorMessage(st_)); \
    if (ort_is_onyx() && strstr(ort()->GetErrorMessage(st_), (part)) == NULL)                    \
      fail_msg("%s: '%s' is not in '%s'", #call, (part), ort()->GetErrorMessage(st_));           \
    ort()->ReleaseStatus(st_);                                                                   \
  } while (0)

#endif
