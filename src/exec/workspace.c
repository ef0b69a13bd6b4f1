/* SPDX-License-Identifier: Apache-2.0
 * exec/workspace.c - see workspace.h. */
#include "exec/workspace.h"

#include "base/macros.h"

static bool fits(const ox_workspace *w, size_t bytes) {
  return !w->limit || (w->held <= w->limit && bytes <= w->limit - w->held);
}

bool ox_workspace_take(ox_workspace *w, size_t bytes) {
  if (!fits(w, bytes)) w->trim(w->ctx);
  w->refusal.fresh = !fits(w, bytes);
  if (!w->refusal.fresh) {
    w->held += bytes;
    return true;
  }
  w->refusal.bytes = bytes, w->refusal.held = w->held;
  return false;
}

void ox_workspace_give(ox_workspace *w, size_t bytes) { w->held -= bytes; }

bool ox_workspace_take_for_run(ox_workspace *w, size_t bytes) {
  if (!ox_workspace_take(w, bytes)) return false;
  w->of_run += bytes;
  return true;
}

void *ox_workspace_get(ox_workspace *w, void *(*get)(void *from, size_t bytes), void *from, size_t bytes) {
  void *data = get(from, bytes);
  if (data || !w) return data;
  w->trim(w->ctx);
  return get(from, bytes);
}

static void *get_aligned(void *alloc, size_t bytes) {
  return ox_new_aligned(*(const ox_alloc *)alloc, bytes, OX_ALIGN_BYTES);
}

void *ox_workspace_new(ox_workspace *w, ox_alloc alloc, size_t bytes) {
  return ox_workspace_get(w, get_aligned, &alloc, bytes);
}

void ox_workspace_next_run(ox_workspace *w) {
  w->held -= w->of_run;
  w->of_run = 0, w->turn++;
  w->refusal.fresh = false, w->refusal.step = NULL;
}

void ox_workspace_refused(ox_workspace *w, const struct ox_step *step, const char *what) {
  if (w->refusal.fresh) w->refusal.step = step, w->refusal.what = what;
  w->refusal.fresh = false;
}

ox_status *ox_workspace_explain(ox_workspace *w, const struct ox_step *step, ox_status *st) {
  if (w->refusal.step != step) return st;
  w->refusal.step = NULL;
  ox_status_free(st);
  return ox_fail(OX_LIMIT, "%s: wanted %zu bytes of workspace; %zu are in use, the limit is %zu", w->refusal.what,
                 w->refusal.bytes, w->refusal.held, w->limit);
}
