/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_interop.c - OrtInteropApi: memory and semaphores of graphics APIs, imported by the libraries of the devices.
 * A device whose library imports nothing has no importer: *out NULL is the ABI's way to say so. */
#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_library.h"

struct OrtExternalResourceImporter {
  OrtExternalResourceImporterImpl *impl; /* the library's; never NULL */
};

/* ort_null_argument counts off "ort"; these functions begin with "ort_interop_". */
#define NEED(argument)                                                                            \
  do {                                                                                            \
    if ((argument) == NULL) return ort_null_argument(__func__ + sizeof "ort_interop", #argument); \
  } while (0)

/* A function that the library's importer may lack. */
#define HAVE(importer, Member)                                                                           \
  do {                                                                                                   \
    if (!ORT_HAS((importer)->impl, 24, Member))                                                          \
      return ort_fail(ORT_NOT_IMPLEMENTED, "%s: the library has none", __func__ + sizeof "ort_interop"); \
  } while (0)

/* ---- importers ---- */

OrtStatus *ort_interop_CreateExternalResourceImporterForDevice(const OrtEpDevice *ep_device,
                                                               OrtExternalResourceImporter **out_importer) {
  NEED(out_importer);
  *out_importer = NULL;
  NEED(ep_device);
  OrtEpFactory *f = ep_device->factory;
  OrtExternalResourceImporterImpl *impl = NULL;
  if (f == NULL || !ORT_HAS(f, 24, CreateExternalResourceImporterForDevice)) return NULL;
  ORT_TRY(f->CreateExternalResourceImporterForDevice(f, ep_device, &impl));
  if (impl == NULL) return NULL;
  *out_importer = malloc(sizeof **out_importer);
  if (*out_importer == NULL) {
    if (ORT_HAS(impl, 24, Release)) impl->Release(impl);
    return ort_out_of_memory();
  }
  (*out_importer)->impl = impl;
  return NULL;
}

void ort_interop_ReleaseExternalResourceImporter(OrtExternalResourceImporter *importer) {
  if (importer == NULL) return;
  if (ORT_HAS(importer->impl, 24, Release)) importer->impl->Release(importer->impl);
  free(importer);
}

/* ---- memory ---- */

OrtStatus *ort_interop_CanImportMemory(const OrtExternalResourceImporter *importer,
                                       OrtExternalMemoryHandleType handle_type, bool *out_supported) {
  NEED(importer);
  NEED(out_supported);
  *out_supported =
      ORT_HAS(importer->impl, 24, CanImportMemory) && importer->impl->CanImportMemory(importer->impl, handle_type);
  return NULL;
}

OrtStatus *ort_interop_ImportMemory(OrtExternalResourceImporter *importer, const OrtExternalMemoryDescriptor *desc,
                                    OrtExternalMemoryHandle **out_handle) {
  NEED(importer);
  NEED(desc);
  NEED(out_handle);
  *out_handle = NULL;
  HAVE(importer, ImportMemory);
  return importer->impl->ImportMemory(importer->impl, desc, out_handle);
}

void ort_interop_ReleaseExternalMemoryHandle(OrtExternalMemoryHandle *handle) {
  if (handle != NULL && handle->Release != NULL) handle->Release(handle);
}

OrtStatus *ort_interop_CreateTensorFromMemory(OrtExternalResourceImporter *importer,
                                              const OrtExternalMemoryHandle *mem_handle,
                                              const OrtExternalTensorDescriptor *tensor_desc, OrtValue **out_tensor) {
  NEED(importer);
  NEED(mem_handle);
  NEED(tensor_desc);
  NEED(out_tensor);
  *out_tensor = NULL;
  HAVE(importer, CreateTensorFromMemory);
  return importer->impl->CreateTensorFromMemory(importer->impl, mem_handle, tensor_desc, out_tensor);
}

/* ---- semaphores ---- */

OrtStatus *ort_interop_CanImportSemaphore(const OrtExternalResourceImporter *importer, OrtExternalSemaphoreType type,
                                          bool *out_supported) {
  NEED(importer);
  NEED(out_supported);
  *out_supported =
      ORT_HAS(importer->impl, 24, CanImportSemaphore) && importer->impl->CanImportSemaphore(importer->impl, type);
  return NULL;
}

OrtStatus *ort_interop_ImportSemaphore(OrtExternalResourceImporter *importer,
                                       const OrtExternalSemaphoreDescriptor *desc,
                                       OrtExternalSemaphoreHandle **out_handle) {
  NEED(importer);
  NEED(desc);
  NEED(out_handle);
  *out_handle = NULL;
  HAVE(importer, ImportSemaphore);
  return importer->impl->ImportSemaphore(importer->impl, desc, out_handle);
}

void ort_interop_ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle *handle) {
  if (handle != NULL && handle->Release != NULL) handle->Release(handle);
}

#define ON_SEMAPHORE(Slot)                                                                                     \
  OrtStatus *ort_interop_##Slot(OrtExternalResourceImporter *importer, OrtExternalSemaphoreHandle *sem_handle, \
                                OrtSyncStream *stream, uint64_t value) {                                       \
    NEED(importer);                                                                                            \
    NEED(sem_handle);                                                                                          \
    NEED(stream);                                                                                              \
    HAVE(importer, Slot);                                                                                      \
    return importer->impl->Slot(importer->impl, sem_handle, stream, value);                                    \
  }
ON_SEMAPHORE(WaitSemaphore)
ON_SEMAPHORE(SignalSemaphore)

/* ---- command queues ---- */

static OrtStatus *shares_nothing(const char *function, const OrtEpDevice *device) {
  return ort_fail(ORT_NOT_IMPLEMENTED, "%s: provider %s shares nothing with graphics APIs", function, device->name);
}

OrtStatus *ort_interop_InitGraphicsInteropForEpDevice(const OrtEpDevice *ep_device,
                                                      const OrtGraphicsInteropConfig *config) {
  NEED(ep_device);
  NEED(config);
  OrtEpFactory *f = ep_device->factory;
  if (f == NULL || !ORT_HAS(f, 25, InitGraphicsInterop))
    return shares_nothing("InitGraphicsInteropForEpDevice", ep_device);
  return f->InitGraphicsInterop(f, ep_device, config);
}

OrtStatus *ort_interop_DeinitGraphicsInteropForEpDevice(const OrtEpDevice *ep_device) {
  NEED(ep_device);
  OrtEpFactory *f = ep_device->factory;
  if (f == NULL || !ORT_HAS(f, 25, DeinitGraphicsInterop))
    return shares_nothing("DeinitGraphicsInteropForEpDevice", ep_device);
  return f->DeinitGraphicsInterop(f, ep_device);
}
