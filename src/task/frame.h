/* SPDX-License-Identifier: Apache-2.0
 * task/frame.h - the units and graphs that run on the calling thread, innermost first: there are several because a unit
 * that waits runs other units meanwhile. */
#ifndef OX_TASK_FRAME_H
#define OX_TASK_FRAME_H

#include <stdbool.h>

#include "task/pool.h"

struct ox_task_call;

typedef struct ox_task_frame {
  ox_task *task; /* NULL: a unit that ox_task_submit runs itself, or a call */
  ox_pool *pool; /* NULL: a unit that ox_task_submit runs itself */
  struct ox_task_frame *outer;
  const struct ox_task_call *call; /* if it is a call: becomes |task| when the unit calls ox_task_current */
} ox_task_frame;

extern _Thread_local ox_task_frame *ox_task_frames OX_TLS_FAST;

static inline void ox_task_push_frame(ox_task_frame *frame) { /* sets outer */
  frame->outer = ox_task_frames;
  ox_task_frames = frame;
}
static inline void ox_task_pop_frame(const ox_task_frame *frame) { ox_task_frames = frame->outer; }

/* Does the calling thread run a unit that was in a queue? */
bool ox_task_is_running(void);
/* Is one of the frames on |pool|? */
bool ox_task_is_on(const ox_pool *pool);

#endif
