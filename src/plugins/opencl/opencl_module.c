/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_module.c - compiling, binaries, kernels. */
#include <stdlib.h>
#include <string.h>

#include "plugins/device/seal.h"
#include "plugins/opencl/opencl.h"

static const char magic[] = "ONYXOCL1";

static ox_status *from_binary(dev_device *d, const char *name, const void *binary, size_t bytes, cl_program *out) {
  cl_int code, fits = CL_SUCCESS;
  size_t n = 0;
  const unsigned char *at = dev_seal_open(binary, bytes, magic, &n);
  if (!at) return dev_fail(&d->host, OX_INVALID_ARGUMENT, "OpenCL: the binary of %s is damaged", name);
  *out = clCreateProgramWithBinary(d->context, 1, &d->id, &n, &at, &fits, &code);
  if (code == CL_SUCCESS) code = fits;
  return code == CL_SUCCESS ? NULL : opencl_fail(&d->host, "clCreateProgramWithBinary", code);
}

static ox_status *from_source(dev_device *d, const char *source, cl_program *out) {
  cl_int code;
  *out = clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
  return code == CL_SUCCESS ? NULL : opencl_fail(&d->host, "clCreateProgramWithSource", code);
}

/* A status with the compiler's messages, as far as they fit. */
static ox_status *build_failed(dev_device *d, const char *name, cl_program program, cl_int code) {
  size_t n = 0;
  if (code != CL_BUILD_PROGRAM_FAILURE ||
      clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n < 2)
    return opencl_fail(&d->host, "clBuildProgram", code);
  char *text = dev_new(&d->host, n + 1);
  if (!text) return dev_no_memory(&d->host);
  ox_status *st;
  if (clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, n, text, NULL) == CL_SUCCESS)
    st = dev_fail(&d->host, OX_FAIL, "OpenCL: clBuildProgram of %s: %s", name, text);
  else
    st = opencl_fail(&d->host, "clBuildProgram", code);
  dev_drop(&d->host, text, n + 1);
  return st;
}

ox_status *opencl_build(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                        dev_module **out_module) {
  *out_module = NULL;
  dev_module *m = dev_new(&d->host, sizeof *m);
  if (!m) return dev_no_memory(&d->host);
  m->device = d;
  pthread_mutex_init(&m->lock, NULL);
  ox_status *st =
      binary ? from_binary(d, name, binary, binary_bytes, &m->program) : from_source(d, source, &m->program);
  if (!st) {
    cl_int code = clBuildProgram(m->program, 1, &d->id, d->flags, NULL, NULL);
    if (code != CL_SUCCESS) st = build_failed(d, name, m->program, code);
  }
  if (st)
    opencl_module_release(m);
  else
    *out_module = m;
  return st;
}

void opencl_module_release(dev_module *m) {
  if (!m) return;
  const ox_ep_host *host = &m->device->host;
  for (dev_kernel *k = m->kernels, *next; k; k = next) {
    next = k->next;
    clReleaseKernel(k->kernel);
    pthread_mutex_destroy(&k->lock);
    dev_drop(host, k, sizeof *k + strlen(k->name) + 1);
  }
  dev_drop(host, m->binary, m->binary_bytes);
  if (m->program) clReleaseProgram(m->program);
  pthread_mutex_destroy(&m->lock);
  dev_drop(host, m, sizeof *m);
}

/* Reads the binary of the one device that |m| was built for. */
static void read_binary(dev_module *m) {
  size_t n = 0;
  if (clGetProgramInfo(m->program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) != CL_SUCCESS || !n) return;
  unsigned char *all = dev_new(&m->device->host, sizeof(dev_seal) + n), *at = all + sizeof(dev_seal);
  if (!all) return;
  if (clGetProgramInfo(m->program, CL_PROGRAM_BINARIES, sizeof at, &at, NULL) != CL_SUCCESS) {
    dev_drop(&m->device->host, all, sizeof(dev_seal) + n);
    return;
  }
  dev_seal_put(all, n, magic);
  m->binary = all;
  m->binary_bytes = sizeof(dev_seal) + n;
}

const void *opencl_module_binary(dev_module *m, size_t *out_bytes) {
  pthread_mutex_lock(&m->lock);
  if (!m->binary) read_binary(m);
  pthread_mutex_unlock(&m->lock);
  *out_bytes = m->binary_bytes;
  return m->binary;
}

ox_status *opencl_kernel(dev_module *m, const char *name, dev_kernel **out_kernel) {
  const ox_ep_host *host = &m->device->host;
  size_t bytes = sizeof(dev_kernel) + strlen(name) + 1;
  cl_int code;
  *out_kernel = NULL;
  dev_kernel *k = dev_new(host, bytes);
  if (!k) return dev_no_memory(host);
  memcpy(k->name, name, strlen(name) + 1);
  k->module = m;
  k->kernel = clCreateKernel(m->program, name, &code);
  if (code != CL_SUCCESS) {
    dev_drop(host, k, bytes);
    return code == CL_INVALID_KERNEL_NAME ? dev_fail(host, OX_INVALID_ARGUMENT, "OpenCL: there is no kernel %s", name)
                                          : opencl_fail(host, "clCreateKernel", code);
  }
  pthread_mutex_init(&k->lock, NULL);
  pthread_mutex_lock(&m->lock);
  k->next = m->kernels;
  m->kernels = k;
  pthread_mutex_unlock(&m->lock);
  *out_kernel = k;
  return NULL;
}
