/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_sync_stream.h - a stream of a device: a library's implementation, and when others last waited for it.
 */
#ifndef OX_ORT_SYNC_STREAM_H
#define OX_ORT_SYNC_STREAM_H

#include "ort/plugin/ort_ep_library.h"

struct OrtSyncStream {
  OrtSyncStreamImpl *impl;
  const OrtMemoryDevice *device;
  uint64_t sync_id; /* grows with each notification that is activated on the stream */
};

/* Takes |impl| over, also on failure. */
OX_NODISCARD OrtStatus *ort_sync_stream_adopt(OrtSyncStreamImpl *impl, const OrtMemoryDevice *device,
                                              OrtSyncStream **out);
/* Waits for what is on it. */
OX_NODISCARD OrtStatus *ort_sync_stream_flush(OrtSyncStream *stream);

#endif
