/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_sync_stream.c - streams that clients make for a device. */
#include "ort/plugin/ort_sync_stream.h"

#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_memory_device.h"

OrtStatus *ort_sync_stream_adopt(OrtSyncStreamImpl *impl, const OrtMemoryDevice *device, OrtSyncStream **out) {
  *out = malloc(sizeof **out);
  if (*out != NULL) {
    **out = (OrtSyncStream){.impl = impl, .device = device};
    return NULL;
  }
  if (impl->Release != NULL) impl->Release(impl);
  return ort_out_of_memory();
}

OrtStatus *ort_CreateSyncStreamForEpDevice(const OrtEpDevice *ep_device, const OrtKeyValuePairs *stream_options,
                                           OrtSyncStream **stream) {
  ORT_NEED(ep_device);
  ORT_NEED(stream);
  *stream = NULL;
  if (!ort_ep_device_has_memory(ep_device))
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "CreateSyncStreamForEpDevice: 'ep_device' (%s) does not use memory of a device that is no CPU",
                    ep_device->name);
  OrtEpFactory *f = ep_device->factory;
  if (!ORT_HAS(f, 23, IsStreamAware) || !f->IsStreamAware(f) || !ORT_HAS(f, 23, CreateSyncStreamForDevice))
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateSyncStreamForEpDevice: provider %s has no streams", ep_device->name);
  const OrtMemoryDevice *device = ort_memory_device(ep_device->memory);
  OrtSyncStreamImpl *impl = NULL;
  ORT_TRY(f->CreateSyncStreamForDevice(f, device, stream_options, &impl));
  if (impl == NULL)
    return ort_fail(ORT_EP_FAIL, "CreateSyncStreamForEpDevice: provider %s returned no stream", ep_device->name);
  return ort_sync_stream_adopt(impl, device, stream);
}

OrtStatus *ort_sync_stream_flush(OrtSyncStream *stream) {
  return stream->impl->Flush != NULL ? stream->impl->Flush(stream->impl) : NULL;
}

void *ort_SyncStream_GetHandle(OrtSyncStream *stream) {
  return stream != NULL && stream->impl->GetHandle != NULL ? stream->impl->GetHandle(stream->impl) : NULL;
}

void ort_ReleaseSyncStream(OrtSyncStream *stream) {
  if (stream == NULL) return;
  if (stream->impl->Release != NULL) stream->impl->Release(stream->impl);
  free(stream);
}

/* ---- for libraries ---- */

const OrtSyncStreamImpl *ort_ep_SyncStream_GetImpl(const OrtSyncStream *stream) {
  return stream != NULL ? stream->impl : NULL;
}

uint64_t ort_ep_SyncStream_GetSyncId(const OrtSyncStream *stream) { return stream != NULL ? stream->sync_id : 0; }

/* The engine waits on the host only, never from stream to stream, so none has waited for another. */
uint64_t ort_ep_GetSyncIdForLastWaitOnSyncStream(const OrtSyncStream *producer_stream,
                                                 const OrtSyncStream *consumer_stream) {
  (void)producer_stream, (void)consumer_stream;
  return 0;
}
