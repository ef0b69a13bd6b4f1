/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_stream.c - streams of a run, and events on them: a library's notifications. */
#include <stdlib.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_instance.h"
#include "ort/plugin/ort_memory_device.h"

static ox_status *failed(ox_ep *ep, OrtStatus *st) {
  return st != NULL ? ort_status_to(st, ep->host.status_make) : NULL;
}

static OrtStatus *make_stream(ox_ep *e, OrtSyncStream **out) {
  OrtEpFactory *f = e->slot->factory;
  const OrtMemoryDevice *device = ort_memory_device(e->slot->device->memory);
  OrtSyncStreamImpl *impl = NULL;
  if (ORT_HAS(e->ep, 23, CreateSyncStreamForDevice))
    ORT_TRY(e->ep->CreateSyncStreamForDevice(e->ep, device, &impl));
  else
    ORT_TRY(f->CreateSyncStreamForDevice(f, device, NULL, &impl));
  if (impl == NULL) return ort_fail(ORT_EP_FAIL, "provider %s returned no stream", e->slot->request->name);
  return ort_sync_stream_adopt(impl, device, out);
}

ox_status *ort_ep_stream_create(ox_ep *ep, void **out) {
  OrtSyncStream *stream = NULL;
  OrtStatus *st = make_stream(ep, &stream);
  *out = stream;
  return failed(ep, st);
}

void ort_ep_stream_release(ox_ep *ep, void *stream) {
  (void)ep;
  ort_ReleaseSyncStream(stream);
}

/* The engine does so when a run ends. */
ox_status *ort_ep_stream_sync(ox_ep *ep, void *stream) {
  OrtSyncStreamImpl *impl = ((OrtSyncStream *)stream)->impl;
  OrtStatus *st = impl->Flush != NULL ? impl->Flush(impl) : NULL;
  if (st == NULL && impl->OnSessionRunEnd != NULL) st = impl->OnSessionRunEnd(impl);
  return failed(ep, st);
}

/* ---- events: made by the stream on which they are recorded ---- */

typedef struct ort_event {
  OrtSyncNotificationImpl *impl;
  OrtSyncStream *stream;
} ort_event;

ox_status *ort_ep_event_create(ox_ep *ep, void **out) {
  *out = calloc(1, sizeof(ort_event));
  return *out != NULL ? NULL : ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
}

static void drop(ort_event *event) {
  if (event->impl != NULL && event->impl->Release != NULL) event->impl->Release(event->impl);
  event->impl = NULL;
}

void ort_ep_event_release(ox_ep *ep, void *event) {
  (void)ep;
  drop(event);
  free(event);
}

static OrtStatus *record(ort_event *event, OrtSyncStream *stream) {
  if (event->stream != stream) drop(event);
  event->stream = stream;
  if (event->impl == NULL) {
    if (stream->impl->CreateNotification == NULL) return ort_fail(ORT_EP_FAIL, "a stream makes no notifications");
    ORT_TRY(stream->impl->CreateNotification(stream->impl, &event->impl));
    if (event->impl == NULL || event->impl->Activate == NULL || event->impl->WaitOnHost == NULL)
      return ort_fail(ORT_EP_FAIL, "a stream returned no notification, or one that lacks a function");
  }
  stream->sync_id++;
  return event->impl->Activate(event->impl);
}

ox_status *ort_ep_event_record(ox_ep *ep, void *event, void *stream) { return failed(ep, record(event, stream)); }

ox_status *ort_ep_event_sync(ox_ep *ep, void *event) {
  OrtSyncNotificationImpl *impl = ((ort_event *)event)->impl;
  return impl != NULL ? failed(ep, impl->WaitOnHost(impl)) : NULL;
}
