/* SPDX-License-Identifier: Apache-2.0
 * device/program.c - see program.h. From the second run with the same addresses on, a plan is enqueued as one record if
 * the driver supports it. */
#include "plugins/device/program.h"

#include <string.h>

#include "base/macros.h"

/* ---- frames ---- */

static void frame_free(ox_program *p, dev_frame *f) {
  const ox_alloc a = p->part.ep->host.alloc;
  if (f->done) {
    p->part.ep->host.status_free(dev_the_driver.event_sync(f->done)); /* the record may still be executing */
    dev_the_driver.event_release(f->done);
  }
  if (f->record) dev_the_driver.record_release(f->record);
  ox_delete(a, f->addresses, (p->part.n_in + p->part.n_out) * sizeof *f->addresses);
  ox_delete(a, f, sizeof *f);
}

static ox_status *frame_make(ox_program *p, dev_kept *k, dev_stream *stream, dev_frame **out) {
  const ox_alloc a = p->part.ep->host.alloc;
  ox_status *st = NULL;
  dev_frame *f = ox_new_zeroed(a, sizeof *f);
  if (!f) return dev_no_memory(&p->part.ep->host);
  f->stream = stream;
  f->addresses = ox_new_zeroed(a, (p->part.n_in + p->part.n_out) * sizeof *f->addresses);
  if (!f->addresses) st = dev_no_memory(&p->part.ep->host);
  if (!st && (p->part.ep->record || k->plan->has_copies))
    st = dev_the_driver.event_create(p->part.ep->device, &f->done);
  if (st) {
    frame_free(p, f);
    return st;
  }
  f->next = k->frames, k->frames = *out = f;
  return NULL;
}

static ox_status *frame_of(ox_program *p, dev_kept *k, dev_stream *stream, dev_frame **out) {
  for (dev_frame *f = k->frames; f; f = f->next)
    if (f->stream == stream) {
      *out = f;
      return NULL;
    }
  return frame_make(p, k, stream, out);
}

/* ---- the cache of plans ---- */

static void kept_free(ox_program *p, dev_kept *k) {
  for (dev_frame *next, *f = k->frames; f; f = next) {
    next = f->next;
    frame_free(p, f);
  }
  dev_plan_free(k->plan);
  ox_delete(p->part.ep->host.alloc, k->shapes, (p->part.n_in + p->part.n_out) * sizeof *k->shapes);
  ox_delete(p->part.ep->host.alloc, k, sizeof *k);
}

static bool same_shape(const ox_shape *a, const ox_shape *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

/* Steps may depend on the content of an input that lies with the host: does the plan's equal |now|? */
static bool same_content(const ox_program *p, const dev_kept *k, size_t i, const ox_tensor *now) {
  uint32_t v = p->part.ep->host.io_value(p->part.graph, 0, i);
  const ox_tensor *then = k->plan->contents[v];
  if (p->part.lies[v] != DEV_WITH_HOST) return true;
  return then && then->bytes == now->bytes && (!now->bytes || memcmp(then->data, now->data, now->bytes) == 0);
}

static bool fits(const ox_program *p, const dev_kept *k, const ox_io *io) {
  for (size_t i = 0; i < p->part.n_in; i++)
    if (!same_shape(&k->shapes[i], &io->in[i]->shape) || !same_content(p, k, i, io->in[i])) return false;
  for (size_t i = 0; i < p->part.n_out; i++)
    if (io->out[i]->data && !same_shape(&k->shapes[p->part.n_in + i], &io->out[i]->shape)) return false;
  return true;
}

typedef struct making {
  ox_program *p;
  const ox_io *io;
  dev_kept *kept;
} making;

static ox_status *make_plan(void *ctx, const ox_shape *shapes, const ox_tensor *const *contents, size_t n) {
  const making *m = ctx;
  const dev_part *part = &m->p->part;
  (void)n;
  for (size_t i = 0; i < part->n_in; i++) m->kept->shapes[i] = m->io->in[i]->shape;
  for (size_t i = 0; i < part->n_out; i++)
    m->kept->shapes[part->n_in + i] = shapes[part->ep->host.io_value(part->graph, 1, i)];
  return dev_plan_build(&m->p->part, shapes, contents, &m->kept->plan);
}

static ox_status *kept_make(ox_program *p, const ox_io *io, dev_kept **out) {
  const ox_ep_host *h = &p->part.ep->host;
  dev_kept *k = ox_new_zeroed(h->alloc, sizeof *k);
  if (k) k->shapes = ox_new_zeroed(h->alloc, (p->part.n_in + p->part.n_out) * sizeof *k->shapes);
  making m = {p, io, k};
  ox_status *st = k && k->shapes ? io->infer_values(io, make_plan, &m) : dev_no_memory(h);
  if (st && k)
    kept_free(p, k);
  else
    *out = k;
  return st;
}

/* Drops the least recently used plan that no run is using, if there are too many. */
static void drop_oldest(ox_program *p) {
  dev_kept **oldest = NULL;
  size_t n = 0;
  for (dev_kept **at = &p->plans; *at; at = &(*at)->next, n++)
    if (!(*at)->users) oldest = at;
  if (n <= DEV_MOST_PLANS || !oldest) return;
  dev_kept *k = *oldest;
  *oldest = k->next;
  kept_free(p, k);
}

/* Finds or builds the plan for |io| and moves it to the front of the list. */
static ox_status *kept_for(ox_program *p, const ox_io *io, dev_kept **out) {
  dev_kept **at = &p->plans, *k = NULL;
  while (*at && !fits(p, *at, io)) at = &(*at)->next;
  if (*at) {
    k = *at;
    *at = k->next;
  } else {
    DEV_TRY(kept_make(p, io, &k));
  }
  k->next = p->plans, p->plans = *out = k;
  return NULL;
}

/* ---- running ---- */

/* Makes the stream's work memory large enough. Waits for the queue first, as its steps may be using the old block. */
static ox_status *make_room(ox_ep *ep, dev_stream *s, size_t bytes) {
  void *work;
  if (bytes <= s->work_bytes) return NULL;
  DEV_TRY(dev_the_driver.queue_sync(s->queue));
  dev_give(ep, s->work, s->work_bytes);
  s->work = NULL, s->work_bytes = 0, s->moves++;
  DEV_TRY(dev_take(ep, bytes, &work));
  s->work = work, s->work_bytes = bytes;
  return NULL;
}

/* Allocates outputs that have no memory yet. On the device these may move in every run (|*out_moving|). */
static ox_status *find_outputs(const ox_program *p, const dev_plan *plan, const ox_io *io, bool *out_moving) {
  for (uint32_t i = 0; i < p->part.n_out; i++) {
    uint32_t v = p->part.ep->host.io_value(p->part.graph, 1, i);
    if (io->out[i]->data || !plan->values[v].bytes) continue;
    *out_moving |= p->part.lies[v] == DEV_ON_DEVICE;
    if (!io->alloc_output(io, i, &plan->shapes[v]))
      return dev_fail(&p->part.ep->host, OX_OUT_OF_MEMORY, "no memory for '%s', %zu bytes",
                      p->part.ep->host.value_name(p->part.graph, v), plan->values[v].bytes);
  }
  return NULL;
}

/* Writes the outputs that the host has computed. */
static ox_status *write_contents(const ox_program *p, const dev_plan *plan, const ox_io *io) {
  const ox_ep_host *h = &p->part.ep->host;
  for (uint32_t i = 0; i < p->part.n_out; i++) {
    uint32_t v = h->io_value(p->part.graph, 1, i);
    const ox_tensor *t = plan->contents[v];
    if (p->part.lies[v] != DEV_WITH_HOST) continue;
    if (!t || t->bytes != io->out[i]->bytes)
      return dev_fail(h, OX_NOT_IMPLEMENTED, "the content of '%s' is not known before the run",
                      h->value_name(p->part.graph, v));
    if (t->bytes) memcpy(io->out[i]->data, t->data, t->bytes);
  }
  return NULL;
}

/* Are all addresses those of the run before? Remembers the new ones. */
static bool unmoved(const ox_program *p, dev_frame *f, const ox_io *io) {
  bool same = f->moves == f->stream->moves;
  for (size_t i = 0; i < p->part.n_in + p->part.n_out; i++) {
    bool out = i >= p->part.n_in;
    uint32_t v = p->part.ep->host.io_value(p->part.graph, out, out ? i - p->part.n_in : i);
    void *now = p->part.lies[v] != DEV_ON_DEVICE ? NULL : out ? io->out[i - p->part.n_in]->data : io->in[i]->data;
    same &= f->addresses[i] == now;
    f->addresses[i] = now;
  }
  f->moves = f->stream->moves;
  return same;
}

static ox_status *record(const ox_program *p, const dev_plan *plan, dev_frame *f, const ox_io *io) {
  dev_queue *q = f->stream->queue;
  DEV_TRY(dev_the_driver.record_begin(q));
  ox_status *st = dev_plan_put(plan, q, io, f->stream->work), *end = dev_the_driver.record_end(q, &f->record);
  if (!st) return end;
  p->part.ep->host.status_free(end);
  if (f->record) dev_the_driver.record_release(f->record);
  f->record = NULL;
  return st;
}

static bool may_record(const dev_plan *plan) {
  for (const dev_step *s = plan->steps; s && !dev_the_driver.libraries_record; s = s->next)
    if (s->kind == DEV_STEP_GEMM || s->kind == DEV_STEP_CONV) return false;
  return plan->n_steps > 1;
}

static ox_status *put(ox_program *p, const dev_plan *plan, dev_frame *f, const ox_io *io, bool moving) {
  dev_queue *q = f->stream->queue;
  bool same = unmoved(p, f, io) && !moving;
  if (!same && f->record) {
    DEV_TRY(dev_the_driver.event_sync(f->done));
    dev_the_driver.record_release(f->record);
    f->record = NULL;
  }
  f->runs = same ? f->runs + 1 : 0;
  if (!same && f->started && !f->steady) f->restless = true;
  f->started = true;
  if (p->part.ep->record && f->runs == 1 && !f->restless && may_record(plan)) {
    DEV_TRY(record(p, plan, f, io));
    f->steady = true;
  }
  if (f->record) {
    DEV_TRY(dev_the_driver.record_launch(q, f->record));
    return dev_the_driver.event_record(f->done, q);
  }
  ox_status *st = dev_plan_put(plan, q, io, f->stream->work), *mark = NULL;
  if (plan->has_copies) mark = dev_the_driver.event_record(f->done, q); /* freeing the plan, and them, waits for it */
  if (!st) return mark;
  p->part.ep->host.status_free(mark);
  return st;
}

ox_status *dev_program_run(ox_program *p, const ox_io *io) {
  dev_stream *stream = io->stream;
  dev_kept *k = NULL;
  dev_frame *f = NULL;
  pthread_mutex_lock(&p->lock);
  ox_status *st = kept_for(p, io, &k);
  if (!st) st = frame_of(p, k, stream, &f);
  if (!st) k->users++;
  pthread_mutex_unlock(&p->lock);
  if (st) return st;
  bool moving = false;
  st = dev_plan_note_largest(k->plan, make_room(p->part.ep, stream, k->plan->work_bytes));
  if (!st) st = find_outputs(p, k->plan, io, &moving);
  if (!st) st = write_contents(p, k->plan, io);
  if (!st) st = put(p, k->plan, f, io, moving);
  pthread_mutex_lock(&p->lock);
  k->users--;
  drop_oldest(p);
  pthread_mutex_unlock(&p->lock);
  return st;
}

/* ---- life ---- */

void dev_program_forget(ox_program *p, const dev_stream *s) {
  pthread_mutex_lock(&p->lock);
  for (dev_kept *k = p->plans; k; k = k->next)
    for (dev_frame **at = &k->frames; *at;) {
      dev_frame *f = *at;
      if (f->stream == s) {
        *at = f->next;
        frame_free(p, f);
      } else {
        at = &f->next;
      }
    }
  pthread_mutex_unlock(&p->lock);
}

static void free_program(ox_program *p) {
  const ox_alloc a = p->part.ep->host.alloc;
  for (dev_kept *next, *k = p->plans; k; k = next) {
    next = k->next;
    kept_free(p, k);
  }
  dev_part_deinit(&p->part);
  pthread_mutex_destroy(&p->lock);
  ox_delete(a, p, sizeof *p);
}

ox_status *dev_program_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  const ox_ep_host *h = &ep->host;
  ox_program *p = ox_new_zeroed(h->alloc, sizeof *p);
  if (!p) return dev_no_memory(h);
  if (pthread_mutex_init(&p->lock, NULL)) {
    ox_delete(h->alloc, p, sizeof *p);
    return dev_fail(h, OX_FAIL, "a lock cannot be made");
  }
  ox_status *st = dev_part_init(&p->part, ep, part);
  if (st) {
    free_program(p);
    return st;
  }
  pthread_mutex_lock(&ep->lock);
  p->next = ep->programs, ep->programs = *out_program = p;
  pthread_mutex_unlock(&ep->lock);
  return NULL;
}

void dev_program_release(ox_program *p) {
  ox_ep *ep = p->part.ep;
  pthread_mutex_lock(&ep->lock);
  for (ox_program **at = &ep->programs; *at; at = &(*at)->next)
    if (*at == p) {
      *at = p->next;
      break;
    }
  pthread_mutex_unlock(&ep->lock);
  free_program(p);
}
