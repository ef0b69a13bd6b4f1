/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_interop.c - OrtInteropApi: memory and semaphores of graphics APIs. No device here imports any, so nobody gets
 * an importer (*out NULL is the ABI's way to say so), and what would need one is refused. */
#include "onyx/ort_ep.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

OrtStatus *ort_interop_CreateExternalResourceImporterForDevice(const OrtEpDevice *ep_device,
                                                               OrtExternalResourceImporter **out_importer) {
  const char *function = "CreateExternalResourceImporterForDevice";
  if (out_importer == NULL) return ort_null_argument(function, "out_importer");
  *out_importer = NULL;
  return ep_device != NULL ? NULL : ort_null_argument(function, "ep_device");
}

/* There is no handle that these could get. */
void ort_interop_ReleaseExternalResourceImporter(OrtExternalResourceImporter *importer) { (void)importer; }
void ort_interop_ReleaseExternalMemoryHandle(OrtExternalMemoryHandle *handle) { (void)handle; }
void ort_interop_ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle *handle) { (void)handle; }

static OrtStatus *no_importer(const char *function, const void *importer) {
  if (importer == NULL) return ort_null_argument(function, "importer");
  return ort_fail(ORT_NOT_IMPLEMENTED, "%s: 'importer' is none that this library made", function);
}

OrtStatus *ort_interop_CanImportMemory(const OrtExternalResourceImporter *importer, OrtExternalMemoryHandleType type,
                                       bool *out_supported) {
  (void)type;
  if (out_supported != NULL) *out_supported = false;
  return no_importer("CanImportMemory", importer);
}

OrtStatus *ort_interop_ImportMemory(OrtExternalResourceImporter *importer, const OrtExternalMemoryDescriptor *desc,
                                    OrtExternalMemoryHandle **out_handle) {
  (void)desc;
  if (out_handle != NULL) *out_handle = NULL;
  return no_importer("ImportMemory", importer);
}

OrtStatus *ort_interop_CreateTensorFromMemory(OrtExternalResourceImporter *importer,
                                              const OrtExternalMemoryHandle *memory,
                                              const OrtExternalTensorDescriptor *desc, OrtValue **out_tensor) {
  (void)memory, (void)desc;
  if (out_tensor != NULL) *out_tensor = NULL;
  return no_importer("CreateTensorFromMemory", importer);
}

OrtStatus *ort_interop_CanImportSemaphore(const OrtExternalResourceImporter *importer, OrtExternalSemaphoreType type,
                                          bool *out_supported) {
  (void)type;
  if (out_supported != NULL) *out_supported = false;
  return no_importer("CanImportSemaphore", importer);
}

OrtStatus *ort_interop_ImportSemaphore(OrtExternalResourceImporter *importer,
                                       const OrtExternalSemaphoreDescriptor *desc,
                                       OrtExternalSemaphoreHandle **out_handle) {
  (void)desc;
  if (out_handle != NULL) *out_handle = NULL;
  return no_importer("ImportSemaphore", importer);
}

OrtStatus *ort_interop_WaitSemaphore(OrtExternalResourceImporter *importer, OrtExternalSemaphoreHandle *semaphore,
                                     OrtSyncStream *stream, uint64_t value) {
  (void)semaphore, (void)stream, (void)value;
  return no_importer("WaitSemaphore", importer);
}

OrtStatus *ort_interop_SignalSemaphore(OrtExternalResourceImporter *importer, OrtExternalSemaphoreHandle *semaphore,
                                       OrtSyncStream *stream, uint64_t value) {
  (void)semaphore, (void)stream, (void)value;
  return no_importer("SignalSemaphore", importer);
}

OrtStatus *ort_interop_InitGraphicsInteropForEpDevice(const OrtEpDevice *ep_device,
                                                      const OrtGraphicsInteropConfig *config) {
  if (ep_device == NULL) return ort_null_argument("InitGraphicsInteropForEpDevice", "ep_device");
  if (config == NULL) return ort_null_argument("InitGraphicsInteropForEpDevice", "config");
  return ort_fail(ORT_NOT_IMPLEMENTED, "InitGraphicsInteropForEpDevice: 'ep_device' shares nothing with graphics APIs");
}

OrtStatus *ort_interop_DeinitGraphicsInteropForEpDevice(const OrtEpDevice *ep_device) {
  if (ep_device == NULL) return ort_null_argument("DeinitGraphicsInteropForEpDevice", "ep_device");
  return ort_fail(ORT_NOT_IMPLEMENTED,
                  "DeinitGraphicsInteropForEpDevice: 'ep_device' shares nothing with graphics APIs");
}
