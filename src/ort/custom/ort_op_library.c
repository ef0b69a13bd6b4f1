/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op_library.c - shared libraries of custom operators. Each exports a function that is called with the
 * session's options and adds domains to them; RegisterCustomOps, unless the client names another. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_custom_op.h"
#include "ort/custom/ort_guard.h"
#include "ort/ort_status.h"

/* A list that clones and sessions share from any element on: each element holds the next. */
struct ort_op_library {
  atomic_size_t refs;
  void *handle;
  struct ort_op_library *next;
};

void ort_op_libraries_retain(struct ort_op_library *library) {
  if (library != NULL) atomic_fetch_add_explicit(&library->refs, 1, memory_order_relaxed);
}

void ort_op_libraries_release(struct ort_op_library *library) {
  /* acq_rel: whoever unloads sees all that others did with the library */
  while (library != NULL && atomic_fetch_sub_explicit(&library->refs, 1, memory_order_acq_rel) == 1) {
    struct ort_op_library *next = library->next;
    dlclose(library->handle);
    free(library);
    library = next;
  }
}

static OrtStatus *load(const char *path, void **out_handle) {
  *out_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_handle == NULL) return ort_fail(ORT_FAIL, "Failed to load library %s with error: %s", path, dlerror());
  return NULL;
}

typedef struct {
  RegisterCustomOpsFn fn;
  OrtSessionOptions *options;
  OrtStatus *st;
} registration;

static void call_register(void *p) {
  registration *r = p;
  r->st = r->fn(r->options, ort_api_base());
}

/* Calls |name| of |handle|; NULL: of the process. */
static OrtStatus *call(void *handle, const char *name, OrtSessionOptions *options) {
  dlerror();
  RegisterCustomOpsFn fn = (RegisterCustomOpsFn)(uintptr_t)dlsym(handle != NULL ? handle : RTLD_DEFAULT, name);
  const char *why = dlerror();
  if (fn == NULL) return ort_fail(ORT_FAIL, "Failed to get symbol %s with error: %s", name, why ? why : "it is NULL");
  registration r = {.fn = fn, .options = options};
  OrtStatus *st = ort_guard(call_register, &r);
  return st != NULL ? st : r.st;
}

/* The library is the client's: *library_handle is for its dlclose, also if it has no such function. */
OrtStatus *ort_RegisterCustomOpsLibrary(OrtSessionOptions *options, const char *library_path, void **library_handle) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(library_path);
  ORT_NEED(library_handle);
  ORT_TRY(load(library_path, library_handle));
  return call(*library_handle, "RegisterCustomOps", options);
}

OrtStatus *ort_RegisterCustomOpsLibrary_V2(OrtSessionOptions *options, const ORTCHAR_T *library_name) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(library_name);
  struct ort_op_library *library = calloc(1, sizeof *library);
  if (library == NULL) return ort_out_of_memory();
  OrtStatus *st = load(library_name, &library->handle);
  if (st != NULL) {
    free(library);
    return st;
  }
  /* Kept whatever it answers: it may have added domains before it failed. */
  atomic_init(&library->refs, 1);
  library->next = options->op_libraries;
  options->op_libraries = library;
  return call(library->handle, "RegisterCustomOps", options);
}

OrtStatus *ort_RegisterCustomOpsUsingFunction(OrtSessionOptions *options, const char *registration_func_name) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(registration_func_name);
  return call(NULL, registration_func_name, options);
}

OrtStatus *ort_EnableOrtCustomOps(OrtSessionOptions *options) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  return ort_fail(ORT_FAIL,
                  "EnableOrtCustomOps: the operators of onnxruntime-extensions are not built in; "
                  "register its library");
}
