/* SPDX-License-Identifier: Apache-2.0
 * task/frame.c - the units and graphs that the calling thread is running. */
#include "task/frame.h"

_Thread_local ox_task_frame *ox_task_frames OX_TLS_FAST;

bool ox_task_is_running(void) { return ox_task_frames && (ox_task_frames->task || ox_task_frames->call); }

bool ox_task_is_on(const ox_pool *pool) {
  const ox_task_frame *f = ox_task_frames;
  while (f && f->pool != pool) f = f->outer;
  return f != NULL;
}
