/* SPDX-License-Identifier: Apache-2.0
 * device/program.h - a compiled part: its constants on the device, and a cache of plans for recent input shapes. */
#ifndef OX_DEVICE_PROGRAM_H
#define OX_DEVICE_PROGRAM_H

#include "plugins/device/plan.h"

/* A plan on one stream: its record, and the addresses that the record is valid for. */
typedef struct dev_frame {
  struct dev_frame *next;
  dev_stream *stream;
  dev_record *record; /* NULL: none yet */
  dev_event *done;    /* recorded after the last run; NULL: the driver cannot record */
  uint64_t moves;     /* the stream's |moves| at the last run */
  uint32_t runs;      /* consecutive runs with the same addresses, not counting the first */
  bool started;       /* it has run before */
  bool steady;        /* it has been recorded */
  bool restless;      /* the second run had other addresses: it is never recorded */
  void **addresses;   /* of inputs, then outputs */
} dev_frame;

/* A plan in the cache. */
typedef struct dev_kept {
  struct dev_kept *next; /* less recently used */
  ox_shape *shapes; /* of inputs, then outputs, which may differ for equal inputs: they can depend on input contents */
  dev_plan *plan;
  dev_frame *frames;
  uint32_t users; /* runs that are currently enqueuing it */
} dev_kept;

enum { DEV_MOST_PLANS = 16 };

struct ox_program {
  dev_part part;           /* |lock| guards its constants */
  struct ox_program *next; /* in the provider's list */
  pthread_mutex_t lock;    /* guards everything below */
  dev_kept *plans;         /* most recently used first */
};

ox_status *dev_program_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
ox_status *dev_program_run(ox_program *p, const ox_io *io);
void dev_program_release(ox_program *p);
/* Drops all frames for stream |s|, which must be idle. */
void dev_program_forget(ox_program *p, const dev_stream *s);

#endif
