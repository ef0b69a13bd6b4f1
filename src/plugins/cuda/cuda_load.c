/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_load.c - NVIDIA's libraries, found at run time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/cuda/cuda.h"

cuda_functions cu;
nvrtc_functions nvrtc;
lt_functions lt;
dnn_functions dnn;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a library is loaded */
static bool has_cuda, has_nvrtc, has_lt, has_dnn;

static void *open_one(const char *path, char *why, size_t room) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *text = library ? NULL : dlerror();
  if (text && !*why) snprintf(why, room, "%s", text);
  return library;
}

/* Opens |name| in one of the folders of |list|, a colon-separated list. */
static void *open_in(const char *list, const char *name, char *why, size_t room) {
  while (list && *list) {
    size_t n = strcspn(list, ":");
    char path[1024];
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)n, list, name);
    void *library = n && length > 0 && (size_t)length < sizeof path ? open_one(path, why, room) : NULL;
    if (library) return library;
    list += n + (list[n] == ':');
  }
  return NULL;
}

void *cuda_open_library(const char *variable, const char *const *names, char *why, size_t room) {
  const char *path = getenv(variable), *folders = getenv("ONYX_CUDA_PATH");
  void *library = NULL;
  *why = 0;
  if (path && *path) return open_one(path, why, room);
  for (size_t i = 0; names[i] && !library; i++) library = open_in(folders, names[i], why, room);
  for (size_t i = 0; names[i] && !library; i++) library = open_one(names[i], why, room);
  return library;
}

typedef struct symbol {
  const char *name;
  size_t at; /* offset in the struct of function pointers */
} symbol;

/* Looks up all symbols. Returns the name of the first one that is missing, or NULL. */
static const char *take(void *library, const symbol *symbols, size_t n, void *functions) {
  for (size_t i = 0; i < n; i++) {
    void *p = dlsym(library, symbols[i].name);
    if (!p) return symbols[i].name;
    memcpy((char *)functions + symbols[i].at, &p, sizeof p);
  }
  return NULL;
}

#define CUDA_ROW(name, parameters) {#name, offsetof(cuda_functions, name)},
#define NVRTC_ROW(name, parameters) {#name, offsetof(nvrtc_functions, name)},
#define LT_ROW(name, parameters) {#name, offsetof(lt_functions, name)},
#define DNN_ROW(name, parameters) {#name, offsetof(dnn_functions, name)},
static const symbol lt_symbols[] = {LT_FUNCTIONS(LT_ROW)};
static const symbol dnn_symbols[] = {DNN_FUNCTIONS(DNN_ROW)};
static const symbol cuda_symbols[] = {CUDA_FUNCTIONS(CUDA_ROW)};
static const symbol nvrtc_symbols[] = {
    NVRTC_FUNCTIONS(NVRTC_ROW){"nvrtcGetErrorString", offsetof(nvrtc_functions, nvrtcGetErrorString)}};

static ox_status *load(const ox_ep_host *host, const char *variable, const char *const *names, const symbol *symbols,
                       size_t n, void *functions) {
  char why[512];
  void *library = cuda_open_library(variable, names, why, sizeof why);
  if (!library) return dev_fail(host, OX_NO_SUCH_FILE, "CUDA: %s cannot be loaded: %s", names[0], why);
  const char *missing = take(library, symbols, n, functions);
  if (!missing) return NULL;
  dlclose(library);
  return dev_fail(host, OX_NOT_IMPLEMENTED, "CUDA: %s has no %s: it is too old", names[0], missing);
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

ox_status *cuda_load(const ox_ep_host *host) {
  static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
  pthread_mutex_lock(&lock);
  ox_status *st = has_cuda ? NULL : load(host, "ONYX_CUDA_LIBRARY", names, cuda_symbols, COUNT(cuda_symbols), &cu);
  has_cuda = !st;
  pthread_mutex_unlock(&lock);
  return st;
}

ox_status *cuda_load_nvrtc(const ox_ep_host *host, int major) {
  static const char *const newest[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  static const char *const older[] = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so", NULL};
  pthread_mutex_lock(&lock);
  ox_status *st = has_nvrtc ? NULL
                            : load(host, "ONYX_NVRTC_LIBRARY", major >= 13 ? newest : older, nvrtc_symbols,
                                   COUNT(nvrtc_symbols), &nvrtc);
  has_nvrtc = !st;
  pthread_mutex_unlock(&lock);
  return st;
}

/* Loads an optional library; false: it is not there. */
static bool load_quietly(bool *has, const char *variable, const char *const *names, const symbol *symbols, size_t n,
                         void *functions) {
  char why[512];
  pthread_mutex_lock(&lock);
  if (!*has) {
    void *library = cuda_open_library(variable, names, why, sizeof why);
    *has = library && !take(library, symbols, n, functions);
    if (library && !*has) dlclose(library);
  }
  bool found = *has;
  pthread_mutex_unlock(&lock);
  return found;
}

bool cuda_load_lt(int major) {
  static const char *const newest[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
  static const char *const older[] = {"libcublasLt.so.12", NULL};
  return load_quietly(&has_lt, "ONYX_CUBLASLT_LIBRARY", major >= 13 ? newest : older, lt_symbols, COUNT(lt_symbols),
                      &lt);
}

bool cuda_load_dnn(void) {
  static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
  return load_quietly(&has_dnn, "ONYX_CUDNN_LIBRARY", names, dnn_symbols, COUNT(dnn_symbols), &dnn);
}
