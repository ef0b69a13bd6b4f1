/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_device.c - memory that only its owner reaches: addresses of a region without access, whose bytes are
 * in another one. Streams do their work at once, and count. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_parts.h"

enum { DEVICE_BYTES = 1 << 26, ALIGN = 256 };

static char *addresses, *bytes;
static atomic_size_t used;

static void make_device(void) {
  if (addresses != NULL) return;
  addresses = mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bytes = mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void *fake_device_bytes(const void *address) { return bytes + ((const char *)address - addresses); }

/* ---- allocators ---- */

typedef struct allocator {
  OrtAllocator base;
  const OrtMemoryInfo *memory;
} allocator;

static void *take(OrtAllocator *a, size_t n) {
  (void)a;
  if (fake_ep_state()->fail != NULL && strcmp(fake_ep_state()->fail, "Alloc") == 0) return NULL;
  size_t at = atomic_fetch_add(&used, (n + ALIGN - 1) / ALIGN * ALIGN);
  if (at + n > DEVICE_BYTES) return NULL;
  fake_ep_state()->allocations++;
  return addresses + at;
}

static void give(OrtAllocator *a, void *p) {
  (void)a;
  if (p != NULL) fake_ep_state()->allocations--;
}

static const OrtMemoryInfo *info_of(const OrtAllocator *a) { return ((const allocator *)a)->memory; }

static OrtStatus *create_allocator(OrtEpFactory *f, const OrtMemoryInfo *memory, const OrtKeyValuePairs *options,
                                   OrtAllocator **out) {
  (void)f, (void)options;
  TRY(fake_call("CreateAllocator"));
  allocator *a = calloc(1, sizeof *a);
  a->base = (OrtAllocator){.version = 22, .Alloc = take, .Free = give, .Info = info_of};
  a->memory = memory;
  fake_ep_state()->allocators++;
  *out = &a->base;
  return NULL;
}

static void release_allocator(OrtEpFactory *f, OrtAllocator *a) {
  (void)f;
  fake_ep_state()->allocators--;
  free(a);
}

/* ---- copies ---- */

static bool is_device(const OrtMemoryDevice *m) {
  return ep_api->MemoryDevice_GetDeviceType(m) == OrtMemoryInfoDeviceType_GPU &&
         ep_api->MemoryDevice_GetVendorId(m) == FAKE_VENDOR;
}

static bool can_copy(const OrtDataTransferImpl *t, const OrtMemoryDevice *from, const OrtMemoryDevice *to) {
  (void)t;
  return is_device(from) || is_device(to);
}

static OrtStatus *copy_tensors(OrtDataTransferImpl *t, const OrtValue **from, OrtValue **to, OrtSyncStream **streams,
                               size_t n) {
  (void)t, (void)streams;
  TRY(fake_call("CopyTensors"));
  for (size_t i = 0; i < n; i++) {
    const void *source;
    void *target;
    size_t size;
    TRY(api->GetTensorData(from[i], &source));
    TRY(api->GetTensorMutableData(to[i], &target));
    TRY(api->GetTensorSizeInBytes(from[i], &size));
    if (is_device(ep_api->Value_GetMemoryDevice(from[i]))) source = fake_device_bytes(source);
    if (is_device(ep_api->Value_GetMemoryDevice(to[i]))) target = fake_device_bytes(target);
    memcpy(target, source, size);
    fake_ep_state()->copies++;
  }
  return NULL;
}

static void release_transfer(OrtDataTransferImpl *t) {
  fake_ep_state()->transfers--;
  free(t);
}

static OrtStatus *create_transfer(OrtEpFactory *f, OrtDataTransferImpl **out) {
  (void)f;
  TRY(fake_call("CreateDataTransfer"));
  *out = calloc(1, sizeof **out);
  **out = (OrtDataTransferImpl){23, release_transfer, can_copy, copy_tensors};
  fake_ep_state()->transfers++;
  return NULL;
}

/* ---- streams ---- */

static void release_event(OrtSyncNotificationImpl *e) {
  fake_ep_state()->events--;
  free(e);
}

static OrtStatus *activate(OrtSyncNotificationImpl *e) {
  (void)e;
  return fake_call("Activate");
}

static OrtStatus *wait_on_device(OrtSyncNotificationImpl *e, OrtSyncStream *stream) {
  (void)e, (void)stream;
  return NULL;
}

static OrtStatus *wait_on_host(OrtSyncNotificationImpl *e) {
  (void)e;
  return fake_call("WaitOnHost");
}

static OrtStatus *create_event(OrtSyncStreamImpl *s, OrtSyncNotificationImpl **out) {
  (void)s;
  TRY(fake_call("CreateNotification"));
  *out = calloc(1, sizeof **out);
  **out = (OrtSyncNotificationImpl){23, release_event, activate, wait_on_device, wait_on_host};
  fake_ep_state()->events++;
  return NULL;
}

static void release_stream(OrtSyncStreamImpl *s) {
  fake_ep_state()->streams--;
  free(s);
}

static void *stream_handle(OrtSyncStreamImpl *s) { return s; }

static OrtStatus *flush(OrtSyncStreamImpl *s) {
  (void)s;
  return fake_call("Flush");
}

static OrtStatus *on_session_run_end(OrtSyncStreamImpl *s) {
  (void)s;
  return fake_call("OnSessionRunEnd");
}

static bool is_stream_aware(const OrtEpFactory *f) {
  (void)f;
  return true;
}

static OrtStatus *create_stream(OrtEpFactory *f, const OrtMemoryDevice *device, const OrtKeyValuePairs *options,
                                OrtSyncStreamImpl **out) {
  (void)f, (void)options;
  TRY(fake_call("CreateSyncStreamForDevice"));
  if (!is_device(device)) return api->CreateStatus(ORT_EP_FAIL, "another device");
  *out = calloc(1, sizeof **out);
  **out = (OrtSyncStreamImpl){23, release_stream, stream_handle, create_event, flush, on_session_run_end};
  fake_ep_state()->streams++;
  return NULL;
}

/* ---- memory of another API: an address ---- */

static bool can_import(const OrtExternalResourceImporterImpl *i, OrtExternalMemoryHandleType type) {
  (void)i;
  return type == ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_OPAQUE_FD;
}

static bool can_wait(const OrtExternalResourceImporterImpl *i, OrtExternalSemaphoreType type) {
  (void)i, (void)type;
  return false;
}

static void release_imported(OrtExternalMemoryHandle *h) {
  fake_ep_state()->imported--;
  free(h);
}

static OrtStatus *import(OrtExternalResourceImporterImpl *i, const OrtExternalMemoryDescriptor *d,
                         OrtExternalMemoryHandle **out) {
  (void)i;
  TRY(fake_call("ImportMemory"));
  *out = calloc(1, sizeof **out);
  **out = (OrtExternalMemoryHandle){.version = d->version, .descriptor = *d, .Release = release_imported};
  fake_ep_state()->imported++;
  return NULL;
}

static OrtStatus *tensor_of(OrtExternalResourceImporterImpl *i, const OrtExternalMemoryHandle *h,
                            const OrtExternalTensorDescriptor *d, OrtValue **out) {
  OrtMemoryInfo *cpu;
  (void)i;
  TRY(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  OrtStatus *st = api->CreateTensorWithDataAsOrtValue(cpu, h->descriptor.native_handle, h->descriptor.size_bytes,
                                                      d->shape, d->rank, d->element_type, out);
  api->ReleaseMemoryInfo(cpu);
  return st;
}

static void release_importer(OrtExternalResourceImporterImpl *i) {
  fake_ep_state()->imported--;
  free(i);
}

static OrtStatus *create_importer(OrtEpFactory *f, const OrtEpDevice *device, OrtExternalResourceImporterImpl **out) {
  (void)f, (void)device;
  TRY(fake_call("CreateExternalResourceImporterForDevice"));
  *out = calloc(1, sizeof **out);
  **out = (OrtExternalResourceImporterImpl){.ort_version_supported = 24,
                                            .CanImportMemory = can_import,
                                            .ImportMemory = import,
                                            .CreateTensorFromMemory = tensor_of,
                                            .CanImportSemaphore = can_wait,
                                            .Release = release_importer};
  fake_ep_state()->imported++;
  return NULL;
}

/* Both numbers tell the kind; one that nobody wants is NULL. */
static OrtStatus *memory_capacity(OrtEpFactory *f, const OrtEpDevice *device, uint32_t kind, size_t *first,
                                  size_t *second) {
  (void)f;
  if (first != NULL) *first = DEVICE_BYTES + kind;
  if (second != NULL) *second = strlen(api->EpDevice_EpName(device)) + kind;
  return fake_call("GetDeviceMemoryCapacity");
}

void fake_device_fill(OrtEpFactory *factory) {
  make_device();
  factory->ort_version_supported = 32;
  factory->GetDeviceMemoryCapacity = memory_capacity;
  factory->CreateAllocator = create_allocator, factory->ReleaseAllocator = release_allocator;
  factory->CreateDataTransfer = create_transfer;
  factory->CreateExternalResourceImporterForDevice = create_importer;
  factory->IsStreamAware = is_stream_aware, factory->CreateSyncStreamForDevice = create_stream;
}
