/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_module.c - compiling by NVRTC, to machine code if the compiler knows the device, and kernels. */
#include <stdio.h>
#include <string.h>

#include "plugins/cuda/cuda.h"
#include "plugins/device/seal.h"

static const char magic[] = "ONYXCU01";

static ox_status *nvrtc_fail(const dev_device *d, const char *call, int code) {
  return dev_fail(&d->host, code == 1 ? OX_OUT_OF_MEMORY : OX_FAIL, "CUDA: %s: %s (%d)", call,
                  nvrtc.nvrtcGetErrorString(code), code);
}

#define NVRTC_TRY(d, fn, ...)                      \
  do {                                             \
    int code_ = nvrtc.fn(__VA_ARGS__);             \
    if (code_) return nvrtc_fail((d), #fn, code_); \
  } while (0)

/* The newest architecture known to the compiler that is not newer than the device's; |*out_exact|: it is the device's.
 */
static ox_status *architecture(const dev_device *d, int *out_arch, bool *out_exact) {
  int n = 0, archs[64];
  NVRTC_TRY(d, nvrtcGetNumSupportedArchs, &n);
  if (n > 64) return dev_fail(&d->host, OX_FAIL, "CUDA: NVRTC knows %d architectures", n);
  NVRTC_TRY(d, nvrtcGetSupportedArchs, archs);
  *out_arch = 0;
  for (int i = 0; i < n; i++)
    if (archs[i] <= d->sm && archs[i] > *out_arch) *out_arch = archs[i];
  if (!*out_arch)
    return dev_fail(&d->host, OX_NOT_IMPLEMENTED, "CUDA: %s: this NVRTC cannot compile for sm_%d", d->info.name, d->sm);
  *out_exact = *out_arch == d->sm;
  return NULL;
}

/* A status with the compiler's messages, as far as they fit. */
static ox_status *compile_failed(dev_device *d, const char *name, nvrtc_program program, int code) {
  size_t n = 0;
  char *text = NULL;
  if (!nvrtc.nvrtcGetProgramLogSize(program, &n) && n > 1) text = dev_new(&d->host, n + 1);
  if (!text || nvrtc.nvrtcGetProgramLog(program, text)) {
    dev_drop(&d->host, text, n + 1);
    return nvrtc_fail(d, "nvrtcCompileProgram", code);
  }
  ox_status *st = dev_fail(&d->host, OX_FAIL, "CUDA: nvrtcCompileProgram of %s: %s", name, text);
  dev_drop(&d->host, text, n + 1);
  return st;
}

/* Reads the image of a compiled program: machine code, or PTX for the driver to compile. */
static ox_status *read_image(dev_module *m, nvrtc_program program, bool machine_code) {
  dev_device *d = m->device;
  size_t n = 0;
  if (machine_code)
    NVRTC_TRY(d, nvrtcGetCUBINSize, program, &n);
  else
    NVRTC_TRY(d, nvrtcGetPTXSize, program, &n);
  m->binary = dev_new(&d->host, sizeof(dev_seal) + n);
  if (!m->binary) return dev_no_memory(&d->host);
  m->binary_bytes = sizeof(dev_seal) + n;
  char *image = (char *)m->binary + sizeof(dev_seal);
  if (machine_code)
    NVRTC_TRY(d, nvrtcGetCUBIN, program, image);
  else
    NVRTC_TRY(d, nvrtcGetPTX, program, image);
  dev_seal_put(m->binary, n, magic);
  return NULL;
}

static ox_status *compile(dev_module *m, const char *name, const char *source) {
  dev_device *d = m->device;
  int arch = 0;
  bool exact = false;
  nvrtc_program program = NULL;
  char target[64];
  ox_status *st = cuda_load_nvrtc(&d->host, d->driver / 1000);
  if (!st) st = architecture(d, &arch, &exact);
  if (st) return st;
  snprintf(target, sizeof target, "--gpu-architecture=%s_%d", exact ? "sm" : "compute", arch);
  const char *const options[] = {target, "--fmad=true", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};
  NVRTC_TRY(d, nvrtcCreateProgram, &program, source, name, 0, NULL, NULL);
  int code = nvrtc.nvrtcCompileProgram(program, (int)(sizeof options / sizeof *options), options);
  st = code ? compile_failed(d, name, program, code) : read_image(m, program, exact);
  nvrtc.nvrtcDestroyProgram(&program);
  return st;
}

/* Loads the image. If it is PTX, the driver's compiler writes its messages to |log|. */
static ox_status *load_image(dev_module *m, const char *name) {
  enum { LOG_BUFFER = 5, LOG_BYTES = 6, LOG_ROOM = 2048 };
  char log[LOG_ROOM] = "";
  int options[] = {LOG_BUFFER, LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)LOG_ROOM};
  int code = cu.cuModuleLoadDataEx(&m->module, m->binary + sizeof(dev_seal), 2, options, values);
  if (!code) return NULL;
  char call[LOG_ROOM + 128];
  snprintf(call, sizeof call, "cuModuleLoadDataEx of %.64s%s%.*s", name, *log ? ": " : "", LOG_ROOM - 1, log);
  return cuda_fail(&m->device->host, call, code);
}

static ox_status *take_binary(dev_module *m, const char *name, const void *binary, size_t bytes) {
  const ox_ep_host *host = &m->device->host;
  size_t n;
  if (!dev_seal_open(binary, bytes, magic, &n))
    return dev_fail(host, OX_INVALID_ARGUMENT, "CUDA: the binary of %s is damaged", name);
  m->binary = dev_new(host, bytes);
  if (!m->binary) return dev_no_memory(host);
  m->binary_bytes = bytes;
  memcpy(m->binary, binary, bytes);
  return NULL;
}

static ox_status *build_within(dev_module *m, const char *name, const char *source, const void *binary, size_t bytes) {
  ox_status *st = binary ? take_binary(m, name, binary, bytes) : compile(m, name, source);
  return st ? st : load_image(m, name);
}

static ox_status *build(dev_module *m, const char *name, const char *source, const void *binary, size_t bytes) {
  CUDA_WITHIN(m->device, build_within(m, name, source, binary, bytes));
}

ox_status *cuda_build(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                      dev_module **out_module) {
  *out_module = NULL;
  dev_module *m = dev_new(&d->host, sizeof *m);
  if (!m) return dev_no_memory(&d->host);
  m->device = d;
  pthread_mutex_init(&m->lock, NULL);
  ox_status *st = build(m, name, source, binary, binary_bytes);
  if (st)
    cuda_module_release(m);
  else
    *out_module = m;
  return st;
}

void cuda_module_release(dev_module *m) {
  if (!m) return;
  const dev_device *d = m->device;
  for (dev_kernel *k = m->kernels, *next; k; k = next) {
    next = k->next;
    dev_drop(&d->host, k, sizeof *k + strlen(k->name) + 1);
  }
  if (m->module) {
    bool pushed = cuda_enter_anyway(d);
    cu.cuModuleUnload(m->module);
    cuda_leave(pushed);
  }
  dev_drop(&d->host, m->binary, m->binary_bytes);
  pthread_mutex_destroy(&m->lock);
  dev_drop(&d->host, m, sizeof *m);
}

const void *cuda_module_binary(dev_module *m, size_t *out_bytes) {
  *out_bytes = m->binary_bytes;
  return m->binary;
}

static ox_status *get_function(dev_module *m, const char *name, cu_function *out) {
  int code = cu.cuModuleGetFunction(out, m->module, name);
  if (code == CU_NOT_FOUND) return dev_fail(&m->device->host, OX_INVALID_ARGUMENT, "CUDA: there is no kernel %s", name);
  return code ? cuda_fail(&m->device->host, "cuModuleGetFunction", code) : NULL;
}

static ox_status *find_function(dev_module *m, const char *name, cu_function *out) {
  CUDA_WITHIN(m->device, get_function(m, name, out));
}

ox_status *cuda_kernel(dev_module *m, const char *name, dev_kernel **out_kernel) {
  const ox_ep_host *host = &m->device->host;
  cu_function function;
  *out_kernel = NULL;
  ox_status *st = find_function(m, name, &function);
  if (st) return st;
  dev_kernel *k = dev_new(host, sizeof *k + strlen(name) + 1);
  if (!k) return dev_no_memory(host);
  memcpy(k->name, name, strlen(name) + 1);
  k->module = m;
  k->function = function;
  pthread_mutex_lock(&m->lock);
  k->next = m->kernels;
  m->kernels = k;
  pthread_mutex_unlock(&m->lock);
  *out_kernel = k;
  return NULL;
}
