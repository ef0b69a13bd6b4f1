/* SPDX-License-Identifier: Apache-2.0
 * support/device_stream.h - a queue of work that a thread of its own does in order, later. */
#ifndef OX_TESTS_DEVICE_STREAM_H
#define OX_TESTS_DEVICE_STREAM_H

#include <stdint.h>

#include "onyx/status.h"

typedef struct device_stream device_stream;
typedef struct device_event device_event;

/* Delays before and after work are drawn from |seed|. */
device_stream *device_stream_create(uint32_t seed);
void device_stream_destroy(device_stream *s); /* does what is left first */
/* |work| is called once with |data|, which it frees. */
void device_stream_put(device_stream *s, ox_status *(*work)(void *data), void *data);
/* Waits until nothing is left. The first error since the last call, if there was one. */
ox_status *device_stream_sync(device_stream *s);

device_event *device_event_create(void);
void device_event_destroy(device_event *e);
void device_event_record(device_event *e, device_stream *s);
void device_event_sync(device_event *e); /* nothing to wait for if it was never recorded */

#endif
