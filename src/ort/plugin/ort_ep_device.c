/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_device.c - devices of execution providers: made by factories, asked about by clients. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_library.h"

/* ---- for libraries ---- */

static OrtStatus *fill(OrtEpDevice *d, OrtEpFactory *factory, const OrtKeyValuePairs *metadata,
                       const OrtKeyValuePairs *options) {
  const char *name = factory->GetName(factory), *vendor = factory->GetVendor(factory);
  if (name == NULL || *name == 0 || vendor == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.CreateEpDevice: the factory gives no name or no vendor");
  d->name = strdup(name), d->vendor = strdup(vendor);
  if (d->name == NULL || d->vendor == NULL) return ort_out_of_memory();
  if (metadata != NULL) ORT_TRY(ort_pairs_copy(metadata, &d->metadata));
  const char *version = ORT_HAS(factory, 23, GetVersion) ? factory->GetVersion(factory) : NULL;
  if (version != NULL) ORT_TRY(ort_pairs_set(&d->metadata, "version", version));
  return options != NULL ? ort_pairs_copy(options, &d->options) : NULL;
}

OrtStatus *ort_ep_CreateEpDevice(OrtEpFactory *ep_factory, const OrtHardwareDevice *hardware_device,
                                 const OrtKeyValuePairs *ep_metadata, const OrtKeyValuePairs *ep_options,
                                 OrtEpDevice **ep_device) {
  ORT_NEED(ep_factory);
  ORT_NEED(hardware_device);
  ORT_NEED(ep_device);
  *ep_device = NULL;
  OrtEpDevice *d = calloc(1, sizeof *d);
  if (d == NULL) return ort_out_of_memory();
  d->factory = ep_factory, d->hardware = hardware_device;
  OrtStatus *st = fill(d, ep_factory, ep_metadata, ep_options);
  if (st == NULL)
    *ep_device = d;
  else
    ort_ep_ReleaseEpDevice(d);
  return st;
}

void ort_ep_ReleaseEpDevice(OrtEpDevice *device) {
  if (device == NULL) return;
  ort_pairs_deinit(&device->metadata);
  ort_pairs_deinit(&device->options);
  free(device->name), free(device->vendor);
  free(device);
}

OrtStatus *ort_ep_EpDevice_AddAllocatorInfo(OrtEpDevice *ep_device, const OrtMemoryInfo *allocator_memory_info) {
  ORT_NEED(ep_device);
  ORT_NEED(allocator_memory_info);
  const OrtMemoryInfo *m = allocator_memory_info;
  if (m->allocator == OrtArenaAllocator)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "OrtEpApi.EpDevice_AddAllocatorInfo: memory '%s' is of an arena; OrtDeviceAllocator or "
                    "OrtReadOnlyAllocator wanted",
                    m->name);
  if (m->device_mem == OrtDeviceMemoryType_HOST_ACCESSIBLE)
    ep_device->host_memory = m;
  else if (m->allocator == OrtReadOnlyAllocator)
    ep_device->constants = m;
  else
    ep_device->memory = m;
  return NULL;
}

/* ---- for clients ---- */

const char *ort_EpDevice_EpName(const OrtEpDevice *device) { return device != NULL ? device->name : NULL; }
const char *ort_EpDevice_EpVendor(const OrtEpDevice *device) { return device != NULL ? device->vendor : NULL; }
const OrtKeyValuePairs *ort_EpDevice_EpMetadata(const OrtEpDevice *device) {
  return device != NULL ? &device->metadata : NULL;
}
const OrtKeyValuePairs *ort_EpDevice_EpOptions(const OrtEpDevice *device) {
  return device != NULL ? &device->options : NULL;
}
const OrtHardwareDevice *ort_EpDevice_Device(const OrtEpDevice *device) {
  return device != NULL ? device->hardware : NULL;
}

const OrtMemoryInfo *ort_EpDevice_MemoryInfo(const OrtEpDevice *device, OrtDeviceMemoryType type) {
  if (device == NULL) return NULL;
  return type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? device->host_memory
         : type == OrtDeviceMemoryType_DEFAULT       ? device->memory
                                                     : NULL;
}

/* The kind of memory, and what the two numbers are, is between the client and the library. */
OrtStatus *ort_EpDevice_GetMemoryCapacity(const OrtEpDevice *ep_device, uint32_t kind, size_t *first, size_t *second) {
  size_t got[2] = {0};
  ORT_NEED(ep_device);
  if (first == NULL && second == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "EpDevice_GetMemoryCapacity: both outputs are NULL, one may be");
  OrtEpFactory *f = ep_device->factory;
  if (f == NULL || !ORT_HAS(f, 32, GetDeviceMemoryCapacity))
    return ort_fail(ORT_NOT_IMPLEMENTED, "EpDevice_GetMemoryCapacity: provider %s does not tell how much memory it has",
                    ep_device->name);
  ORT_TRY(
      f->GetDeviceMemoryCapacity(f, ep_device, kind, first != NULL ? &got[0] : NULL, second != NULL ? &got[1] : NULL));
  if (first != NULL) *first = got[0];
  if (second != NULL) *second = got[1];
  return NULL;
}

const char *ort_ep_device_name(const OrtEpDevice *device) { return device->name; }

bool ort_ep_device_has_memory(const OrtEpDevice *device) {
  return device->memory != NULL && !ort_memory_is_cpu(device->memory);
}
