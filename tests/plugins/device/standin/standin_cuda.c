/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_cuda.c - devices, contexts, modules, launches, copies; what fails, and when. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/device/standin/standin.h"

/* ---- control ---- */

static atomic_long calls, fail_call = -1, live;
static atomic_int fail_code, lost, compute = 90;
static atomic_bool ready, once, idle;

void standin_fail_at(long call, int code) {
  atomic_store(&calls, 0);
  atomic_store(&fail_code, code);
  atomic_store(&once, false);
  atomic_store(&fail_call, call);
}
void standin_fail_once(long call, int code) {
  standin_fail_at(call, code);
  atomic_store(&once, true);
}
long standin_calls(void) { return atomic_load(&calls); }
void standin_idle(int on) { atomic_store(&idle, on != 0); }
bool standin_is_idle(void) { return atomic_load(&idle); }
long standin_live(void) { return atomic_load(&live); }
void standin_made(long n) { atomic_fetch_add(&live, n); }
void standin_lose(int code) { atomic_store(&lost, code); }
int standin_lost(void) { return atomic_load(&lost); }
void standin_sm(int sm) { atomic_store(&compute, sm); }

static _Thread_local struct {
  cu_context of[16];
  int n;
} stack;
static int the_context; /* its address is the handle */
#define CONTEXT ((cu_context)(void *)&the_context)

int standin_depth(void) { return stack.n; }

int standin_gate(bool with_context) {
  long call = atomic_fetch_add(&calls, 1), at = atomic_load(&fail_call);
  if (at >= 0 && (atomic_load(&once) ? call == at : call >= at)) {
    int code = atomic_load(&fail_code);
    if (code == ILLEGAL_ADDRESS) standin_lose(code);
    return code;
  }
  if (!atomic_load(&ready)) return NOT_INITIALIZED;
  if (standin_lost()) return standin_lost();
  return with_context && (!stack.n || stack.of[stack.n - 1] != CONTEXT) ? INVALID_CONTEXT : OK;
}

int standin_make(void **out, size_t bytes) {
  int code = standin_gate(false);
  if (code) return code;
  *out = calloc(1, bytes);
  standin_made(1);
  return OK;
}

int standin_drop(void *object) {
  free(object);
  standin_made(-1);
  return OK;
}

/* ---- devices ---- */

/* STANDIN_CUDA_FAIL=CALL:CODE, for programs that a test runs. */
STANDIN_API int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  const char *fail = getenv("STANDIN_CUDA_FAIL");
  long call;
  int code;
  if (!atomic_exchange(&ready, true) && fail && sscanf(fail, "%ld:%d", &call, &code) == 2) standin_fail_at(call, code);
  code = standin_gate(false);
  return code ? code : flags ? INVALID_VALUE : OK;
}

#define ANSWER(name, parameters, what) \
  STANDIN_API int name parameters;     \
  int name parameters {                \
    int code = standin_gate(false);    \
    if (code) return code;             \
    what;                              \
    return OK;                         \
  }
ANSWER(cuDriverGetVersion, (int *version), *version = 12080)
ANSWER(cuDeviceGetCount, (int *n), *n = 1)
ANSWER(cuDeviceGet, (cu_device * device, int ordinal), if (ordinal) return INVALID_DEVICE; *device = 0)
ANSWER(cuDeviceGetName, (char *name, int room, cu_device device), if (device) return INVALID_DEVICE;
       snprintf(name, (size_t)room, "stand-in for a GPU"))
ANSWER(
    cuDeviceGetAttribute, (int *value, int attribute, cu_device device), if (device) return INVALID_DEVICE;
    switch (attribute) {
      case CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
      case CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        *value = 49152;
        break;
      case CU_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 2;
        break;
      case CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = atomic_load(&compute) / 10;
        break;
      case CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = atomic_load(&compute) % 10;
        break;
      default:
        return INVALID_VALUE;
    })
ANSWER(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device), if (device) return INVALID_DEVICE;
       *context = CONTEXT; standin_made(1))
ANSWER(cuCtxGetCurrent, (cu_context * context), *context = stack.n ? stack.of[stack.n - 1] : NULL)
ANSWER(cuCtxPushCurrent_v2, (cu_context context), if (stack.n == 16 || context != CONTEXT) return INVALID_VALUE;
       stack.of[stack.n++] = context)

STANDIN_API int cuDevicePrimaryCtxRelease_v2(cu_device device);
int cuDevicePrimaryCtxRelease_v2(cu_device device) {
  if (device) return INVALID_DEVICE;
  standin_made(-1);
  return standin_lost();
}

STANDIN_API int cuCtxPopCurrent_v2(cu_context *context);
int cuCtxPopCurrent_v2(cu_context *context) {
  if (!stack.n) return INVALID_CONTEXT;
  *context = stack.of[--stack.n];
  return standin_lost();
}

static const struct {
  int code;
  const char *name, *text;
} names[] = {
    {OK, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

static int find_name(int code, const char **name, bool text) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return *name = text ? names[i].text : names[i].name, OK;
  return INVALID_VALUE;
}
STANDIN_API int cuGetErrorName(int code, const char **name);
int cuGetErrorName(int code, const char **name) { return find_name(code, name, false); }
STANDIN_API int cuGetErrorString(int code, const char **text);
int cuGetErrorString(int code, const char **text) { return find_name(code, text, true); }

/* ---- modules: the image is standin_nvrtc.c's; functions are found in this library ---- */

STANDIN_API int cuModuleLoadDataEx(cu_module *module, const void *image, unsigned n, int *options, void **values);
int cuModuleLoadDataEx(cu_module *module, const void *image, unsigned n, int *options, void **values) {
  (void)n, (void)options, (void)values;
  int code = standin_gate(true);
  if (code) return code;
  if (strncmp(image, "STANDIN sm", 10) != 0 && strncmp(image, "STANDIN compute", 15) != 0) return INVALID_IMAGE;
  *module = malloc(1);
  standin_made(1);
  return OK;
}

STANDIN_API int cuModuleUnload(cu_module module);
int cuModuleUnload(cu_module module) {
  free(module);
  standin_made(-1);
  return standin_lost();
}

typedef struct CUfunc_st {
  struct CUfunc_st *next;
  standin_kernel *kernel;
  unsigned bytes; /* of its parameters */
} function;
static function *functions; /* never freed: a list of all that were asked for */

static void *symbol(const char *name) {
  Dl_info info;
  void *self = dladdr((void *)(uintptr_t)&the_context, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
  void *found = self ? dlsym(self, name) : NULL;
  if (self) dlclose(self);
  return found;
}

/* scale_f32: the kernel, and scale_bytes_f32, the size of its parameters. */
STANDIN_API int cuModuleGetFunction(cu_function *out, cu_module module, const char *name);
int cuModuleGetFunction(cu_function *out, cu_module module, const char *name) {
  (void)module;
  int code = standin_gate(true);
  size_t n = strlen(name);
  char bytes[256];
  if (code) return code;
  if (n < 5 || n > 200) return CU_NOT_FOUND;
  snprintf(bytes, sizeof bytes, "%.*s_bytes%s", (int)n - 4, name, name + n - 4);
  void *kernel = symbol(name);
  const unsigned *size = symbol(bytes);
  if (!kernel || !size) return CU_NOT_FOUND;
  function *f = calloc(1, sizeof *f);
  memcpy(&f->kernel, &kernel, sizeof kernel);
  f->bytes = *size;
  pthread_mutex_lock(&standin_lock);
  f->next = functions;
  *out = functions = f;
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned ix, unsigned iy,
                               unsigned iz, unsigned shared, cu_stream stream, void **arguments, void **extra);
int cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned ix, unsigned iy, unsigned iz,
                   unsigned shared, cu_stream stream, void **arguments, void **extra) {
  int code = standin_gate(true);
  if (code) return code;
  bool wrong = !gx || !gy || !gz || gy > 65535 || gz > 65535 || gx > 0x7fffffff;
  if (wrong || !ix || ix * iy * iz > 1024 || iy != 1 || iz != 1 || shared || extra) return INVALID_VALUE;
  standin_op op = {.kind = OP_LAUNCH, .kernel = f->kernel, .groups = {(int)gx, (int)gy, (int)gz}};
  for (int i = 0; i < 8; i++) memcpy(&op.buffers[i], arguments[i], sizeof op.buffers[i]);
  memcpy(op.params, arguments[8], f->bytes);
  return standin_put(stream, &op);
}

/* ---- copies: what is not pinned is read before the call returns, and written before it returns ---- */

STANDIN_API int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream);
int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream) {
  int code = standin_gate(true);
  if (code) return code;
  if (!standin_at(to, bytes) || standin_is_capturing(stream)) return INVALID_VALUE;
  standin_op op = {.kind = OP_TO_DEVICE, .to = to, .host = (void *)(uintptr_t)from, .bytes = bytes};
  op.owned = !standin_is_pinned(from);
  if (op.owned) op.host = memcpy(malloc(bytes), from, bytes);
  return standin_put(stream, &op);
}

STANDIN_API int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream);
int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream) {
  int code = standin_gate(true);
  if (code) return code;
  if (!standin_at(from, bytes) || standin_is_capturing(stream)) return INVALID_VALUE;
  code = standin_put(stream, &(standin_op){.kind = OP_TO_HOST, .from = from, .host = to, .bytes = bytes});
  if (code || standin_is_pinned(to)) return code;
  pthread_mutex_lock(&standin_lock);
  standin_drain(stream);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

STANDIN_API int cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes, cu_stream stream);
int cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes, cu_stream stream) {
  int code = standin_gate(true);
  if (code) return code;
  if (!standin_at(to, bytes) || !standin_at(from, bytes)) return INVALID_VALUE;
  return standin_put(stream, &(standin_op){.kind = OP_WITHIN, .to = to, .from = from, .bytes = bytes});
}
