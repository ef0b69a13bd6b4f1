/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_hardware_list.c - the machine's devices, found once in the life of the process. */
#include <pthread.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_library.h"

static struct {
  pthread_mutex_t lock;
  OrtHardwareDevice **devices;
  size_t n;
} machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

OrtStatus *ort_hardware_list(const OrtHardwareDevice *const **out_devices, size_t *out_n) {
  pthread_mutex_lock(&machine.lock);
  OrtStatus *st = machine.devices == NULL ? ort_hardware_find("", &machine.devices, &machine.n) : NULL;
  *out_devices = (const OrtHardwareDevice *const *)machine.devices, *out_n = machine.n;
  pthread_mutex_unlock(&machine.lock);
  return st;
}

OrtStatus *ort_GetNumHardwareDevices(const OrtEnv *env, size_t *num_devices) {
  const OrtHardwareDevice *const *devices;
  ORT_NEED(env);
  ORT_NEED(num_devices);
  return ort_hardware_list(&devices, num_devices);
}

OrtStatus *ort_GetHardwareDevices(const OrtEnv *env, const OrtHardwareDevice **devices, size_t num_devices) {
  const OrtHardwareDevice *const *list;
  size_t n;
  ORT_NEED(env);
  ORT_NEED(devices);
  ORT_TRY(ort_hardware_list(&list, &n));
  if (num_devices < n)
    return ort_fail(ORT_INVALID_ARGUMENT, "GetHardwareDevices: 'num_devices' is %zu, there are %zu", num_devices, n);
  memcpy(devices, list, n * sizeof *list);
  return NULL;
}
