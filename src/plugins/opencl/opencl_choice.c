/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_choice.c - selecting a device, and its properties. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

const ox_option_def opencl_options[OPENCL_OPTIONS] = {
    {"device_id", OX_OPTION_INT, NULL, "0", "which of the devices that the other options leave: GPUs first, CPUs last"},
    {"device_type", OX_OPTION_STRING, "any|gpu|cpu", "any", "kind of device"},
    {"platform", OX_OPTION_STRING, NULL, "", "part of the platform's name, e.g. NVIDIA; empty: any"},
};

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static const char *option(const ox_options *o, const char *key, const char *otherwise) {
  for (uint32_t i = 0; o && i < o->n; i++)
    if (strcmp(o->keys[i], key) == 0) return o->values[i];
  return otherwise;
}

/* Appends the platform's devices of |kind|. */
static cl_int append(cl_platform_id platform, cl_device_type kind, cl_device_id *list, cl_uint *n) {
  cl_uint found = 0;
  if (*n == MAX_DEVICES) return CL_SUCCESS;
  cl_int code = clGetDeviceIDs(platform, kind, MAX_DEVICES - *n, list + *n, &found);
  if (code == CL_DEVICE_NOT_FOUND) return CL_SUCCESS;
  if (code == CL_SUCCESS) *n += found < MAX_DEVICES - *n ? found : MAX_DEVICES - *n;
  return code;
}

static ox_status *choose(const ox_ep_host *host, const ox_options *options, cl_device_id *out_id) {
  static const struct {
    const char *type;
    cl_device_type kind;
  } kinds[] = {{"gpu", CL_DEVICE_TYPE_GPU}, {"accelerator", CL_DEVICE_TYPE_ACCELERATOR}, {"cpu", CL_DEVICE_TYPE_CPU}};
  const char *type = option(options, "device_type", "any"), *wanted = option(options, "platform", "");
  long id = strtol(option(options, "device_id", "0"), NULL, 10);
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_device_id devices[MAX_DEVICES];
  cl_uint n_platforms = 0, n = 0;
  CL_TRY(host, clGetPlatformIDs, MAX_PLATFORMS, platforms, &n_platforms);
  if (n_platforms > MAX_PLATFORMS) n_platforms = MAX_PLATFORMS;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(type, "any") != 0 && strcmp(type, kinds[k].type) != 0) continue;
    for (cl_uint p = 0; p < n_platforms; p++) {
      char name[256] = "";
      CL_TRY(host, clGetPlatformInfo, platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL);
      if (!strstr(name, wanted)) continue;
      cl_int code = append(platforms[p], kinds[k].kind, devices, &n);
      if (code != CL_SUCCESS) return opencl_fail(host, "clGetDeviceIDs", code);
    }
  }
  if (id < 0 || id >= (long)n)
    return dev_fail(host, OX_INVALID_ARGUMENT,
                    "OpenCL: device_id %ld: there are %u devices with device_type \"%s\" and platform \"%s\"", id,
                    (unsigned)n, type, wanted);
  *out_id = devices[id];
  return NULL;
}

/* Serialised, since PoCL creates its devices in the first call and reports none to threads that ask meanwhile. */
ox_status *opencl_choose(const ox_ep_host *host, const ox_options *options, cl_device_id *out_id) {
  static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&asking);
  ox_status *st = choose(host, options, out_id);
  pthread_mutex_unlock(&asking);
  return st;
}

#define ASK(what, where) CL_TRY(host, clGetDeviceInfo, id, what, sizeof(where), &(where), NULL)

ox_status *opencl_describe(const ox_ep_host *host, cl_device_id id, dev_info *out, char *flags, size_t room) {
  char vendor[96] = "", product[128] = "", driver[64] = "", version[96] = "", language[64] = "";
  cl_device_type type = 0;
  cl_uint units = 0, align_bits = 0;
  size_t items = 0;
  cl_ulong local = 0, memory = 0;
  cl_device_fp_config floats = 0;
  CL_TRY(host, clGetDeviceInfo, id, CL_DEVICE_VENDOR, sizeof vendor, vendor, NULL);
  CL_TRY(host, clGetDeviceInfo, id, CL_DEVICE_NAME, sizeof product, product, NULL);
  CL_TRY(host, clGetDeviceInfo, id, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
  CL_TRY(host, clGetDeviceInfo, id, CL_DEVICE_VERSION, sizeof version, version, NULL);
  CL_TRY(host, clGetDeviceInfo, id, CL_DEVICE_OPENCL_C_VERSION, sizeof language, language, NULL);
  ASK(CL_DEVICE_TYPE, type);
  ASK(CL_DEVICE_MAX_COMPUTE_UNITS, units);
  ASK(CL_DEVICE_MEM_BASE_ADDR_ALIGN, align_bits);
  ASK(CL_DEVICE_MAX_WORK_GROUP_SIZE, items);
  ASK(CL_DEVICE_LOCAL_MEM_SIZE, local);
  ASK(CL_DEVICE_GLOBAL_MEM_SIZE, memory);
  ASK(CL_DEVICE_SINGLE_FP_CONFIG, floats);
  if (strncmp(version, "OpenCL 1.0", 10) == 0 || strncmp(version, "OpenCL 1.1", 10) == 0)
    return dev_fail(host, OX_NOT_IMPLEMENTED, "OpenCL: %s has %s, 1.2 is needed", product, version);
  if (items < 256 || local < 32768)
    return dev_fail(host, OX_NOT_IMPLEMENTED,
                    "OpenCL: %s: groups have at most %zu items and %llu bytes, 256 and 32768 are needed", product,
                    items, (unsigned long long)local);
  /* No flag that lets the compiler ignore NaN, infinities or signed zeros. */
  snprintf(flags, room, "-cl-std=CL1.2%s",
           floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  snprintf(out->name, sizeof out->name, "%s, %s", vendor, product);
  snprintf(out->key, sizeof out->key, "opencl;%.80s;%.60s;%.40s;%.60s", product, version, driver, flags);
  out->n_units = units ? units : 1;
  out->max_items = items > UINT32_MAX ? UINT32_MAX : (uint32_t)items;
  out->local_bytes = (size_t)local;
  out->memory_bytes = (size_t)memory;
  out->align = 64;
  while (out->align < align_bits / 8 && out->align < 4096) out->align *= 2;
  out->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  return NULL;
}
