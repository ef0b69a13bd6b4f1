/* SPDX-License-Identifier: Apache-2.0
 * device/program.h - a compiled part: its constants on the device and its plans, one for each set of input shapes that
 * came lately. */
#ifndef OX_DEVICE_PROGRAM_H
#define OX_DEVICE_PROGRAM_H

#include "plugins/device/plan.h"

/* A plan on one stream: what was recorded of it, and for which addresses. */
typedef struct dev_frame {
  struct dev_frame *next;
  dev_stream *stream;
  dev_record *record;             /* NULL: none yet */
  dev_event *done;                /* of the last run; NULL: the driver records nothing */
  uint64_t moves;                 /* of the stream's memory when it was recorded */
  uint32_t runs;                  /* with the same addresses, but the first */
  bool started, steady, restless; /* runs before; it was recorded; the second run had other addresses: it never is */
  void **addresses;               /* of inputs, then outputs */
} dev_frame;

/* A plan that is kept. */
typedef struct dev_kept {
  struct dev_kept *next; /* the one used before it */
  ox_shape *shapes; /* of inputs, then outputs: with the same inputs they may depend on what the host reads */
  dev_plan *plan;
  dev_frame *frames;
  uint32_t users; /* runs that are being put on queues */
} dev_kept;

enum { DEV_MOST_PLANS = 16 };

struct ox_program {
  dev_part part;           /* its constants: under the lock */
  struct ox_program *next; /* of the provider */
  pthread_mutex_t lock;    /* of all below */
  dev_kept *plans;         /* the last used first */
};

ox_status *dev_program_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
ox_status *dev_program_run(ox_program *p, const ox_io *io);
void dev_program_release(ox_program *p);
/* Nothing of |s| is kept; it is idle. */
void dev_program_forget(ox_program *p, const dev_stream *s);

#endif
