/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_stream.c - streams, events, graphs: who does the work, and in which order. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/device/standin/standin.h"

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t standin_changed = PTHREAD_COND_INITIALIZER;

struct CUstream_st {
  pthread_t thread;
  standin_op *first, **last; /* not begun yet */
  long pending;              /* these, and the one at work */
  bool stop;
  cu_graph capture;
  bool invalid; /* the capture */
};

struct CUevent_st {
  long refs;
  bool timed;
  uint64_t recorded, done;
};

struct CUgraph_st {
  standin_op *first, **last;
};

struct CUgraphExec_st {
  long refs;
  standin_op *first;
};

static long pending; /* on all streams */

/* ---- work ---- */

static void drop_event(cu_event e) { /* with the lock */
  if (--e->refs == 0) free(e);
}

static void free_list(standin_op *op) {
  for (standin_op *next; op; op = next) {
    next = op->next;
    free(op);
  }
}

static void drop_exec(cu_graph_exec e) { /* with the lock */
  if (--e->refs) return;
  free_list(e->first);
  free(e);
}

static int launch(const standin_op *op) {
  char *buffers[8];
  for (int i = 0; i < 8; i++) {
    buffers[i] = op->buffers[i] ? standin_begin(op->buffers[i]) : NULL;
    if (op->buffers[i] && !buffers[i]) return ILLEGAL_ADDRESS;
  }
  int place[6] = {0, 0, 0, op->groups[0], op->groups[1], op->groups[2]};
  for (place[2] = 0; place[2] < op->groups[2]; place[2]++)
    for (place[1] = 0; place[1] < op->groups[1]; place[1]++)
      for (place[0] = 0; place[0] < op->groups[0]; place[0]++) op->kernel(buffers, op->params, place);
  return OK;
}

static atomic_long copies[3]; /* as standin_copies counts them */

long standin_copies(int way) { return atomic_exchange(&copies[way], 0); }

static int copy(const standin_op *op) {
  atomic_fetch_add(&copies[op->kind == OP_TO_DEVICE ? 0 : op->kind == OP_TO_HOST ? 1 : 2], 1);
  char *to = op->kind == OP_TO_HOST ? op->host : standin_at(op->to, op->bytes);
  const char *from = op->kind == OP_TO_DEVICE ? op->host : standin_at(op->from, op->bytes);
  if (!to || !from) return ILLEGAL_ADDRESS;
  memmove(to, from, op->bytes);
  return OK;
}

/* Without the lock. */
static void work(standin_op *op) {
  int code = OK;
  if (!standin_lost()) {
    if (op->kind == OP_LAUNCH) code = launch(op);
    if (op->kind == OP_TO_DEVICE || op->kind == OP_TO_HOST || op->kind == OP_WITHIN) code = copy(op);
    if (op->kind == OP_CALL) code = op->call(op->arg);
    for (standin_op *o = op->kind == OP_GRAPH ? op->exec->first : NULL; o && !code; o = o->next)
      code = o->kind == OP_LAUNCH ? launch(o) : o->kind == OP_CALL ? o->call(o->arg) : copy(o);
  }
  if (code) standin_lose(code);
  if (op->owned) free(op->host);
}

static void *run(void *arg) {
  cu_stream s = arg;
  pthread_mutex_lock(&standin_lock);
  for (;;) {
    while (!s->first && !s->stop) pthread_cond_wait(&standin_changed, &standin_lock);
    standin_op *op = s->first;
    if (!op) break;
    s->first = op->next;
    if (!s->first) s->last = &s->first;
    pthread_mutex_unlock(&standin_lock);
    work(op);
    pthread_mutex_lock(&standin_lock);
    if (op->kind == OP_EVENT) {
      if (op->event->done < op->ticket) op->event->done = op->ticket;
      drop_event(op->event);
    }
    if (op->kind == OP_GRAPH) drop_exec(op->exec);
    free(op);
    s->pending--, pending--;
    pthread_cond_broadcast(&standin_changed);
  }
  pthread_mutex_unlock(&standin_lock);
  return NULL;
}

int standin_put(cu_stream s, const standin_op *op) {
  standin_op *own = malloc(sizeof *own);
  *own = *op;
  own->next = NULL;
  pthread_mutex_lock(&standin_lock);
  if (op->kind == OP_EVENT) own->ticket = ++op->event->recorded, op->event->refs++;
  if (op->kind == OP_GRAPH) op->exec->refs++;
  if (s->capture) {
    *s->capture->last = own;
    s->capture->last = &own->next;
  } else {
    *s->last = own;
    s->last = &own->next;
    s->pending++, pending++;
  }
  pthread_cond_broadcast(&standin_changed);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

bool standin_is_capturing(cu_stream s) { return s->capture != NULL; }

void standin_drain(cu_stream s) {
  const long *left = s ? &s->pending : &pending;
  while (*left) pthread_cond_wait(&standin_changed, &standin_lock);
}

/* What may not be captured ends the capture. */
static int unsupported(cu_stream s) {
  s->invalid = true;
  return CAPTURE_UNSUPPORTED;
}

/* ---- streams ---- */

STANDIN_API int cuStreamCreate(cu_stream *stream, unsigned flags);
int cuStreamCreate(cu_stream *stream, unsigned flags) {
  int code = standin_gate(true);
  if (code || flags != CU_STREAM_NON_BLOCKING) return code ? code : INVALID_VALUE;
  cu_stream s = calloc(1, sizeof *s);
  s->last = &s->first;
  pthread_mutex_lock(&standin_lock);
  pthread_create(&s->thread, NULL, run, s);
  *stream = s;
  standin_made(1);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuStreamDestroy_v2(cu_stream s);
int cuStreamDestroy_v2(cu_stream s) {
  if (s->capture) return INVALID_VALUE;
  pthread_mutex_lock(&standin_lock);
  standin_drain(s);
  s->stop = true;
  standin_made(-1);
  pthread_cond_broadcast(&standin_changed);
  pthread_mutex_unlock(&standin_lock);
  pthread_join(s->thread, NULL);
  free(s);
  return standin_lost();
}

STANDIN_API int cuStreamSynchronize(cu_stream s);
int cuStreamSynchronize(cu_stream s) {
  int code = standin_gate(true);
  if (code) return code;
  if (s->capture) return unsupported(s);
  pthread_mutex_lock(&standin_lock);
  standin_drain(s);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

/* ---- events ---- */

STANDIN_API int cuEventCreate(cu_event *event, unsigned flags);
int cuEventCreate(cu_event *event, unsigned flags) {
  int code = standin_gate(true);
  if (code || (flags && flags != CU_EVENT_DISABLE_TIMING)) return code ? code : INVALID_VALUE;
  cu_event e = *event = calloc(1, sizeof *e);
  e->refs = 1, e->timed = !flags;
  pthread_mutex_lock(&standin_lock);
  standin_made(1);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuEventDestroy_v2(cu_event e);
int cuEventDestroy_v2(cu_event e) {
  pthread_mutex_lock(&standin_lock);
  drop_event(e);
  standin_made(-1);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

STANDIN_API int cuEventRecord(cu_event e, cu_stream s);
int cuEventRecord(cu_event e, cu_stream s) {
  int code = standin_gate(true);
  if (code) return code;
  return s->capture ? unsupported(s) : standin_put(s, &(standin_op){.kind = OP_EVENT, .event = e});
}

STANDIN_API int cuEventSynchronize(cu_event e);
int cuEventSynchronize(cu_event e) {
  int code = standin_gate(true);
  if (code) return code;
  pthread_mutex_lock(&standin_lock);
  uint64_t ticket = e->recorded;
  e->refs++;
  while (e->done < ticket) pthread_cond_wait(&standin_changed, &standin_lock);
  drop_event(e);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

/* Each time is longer than the one before, so that of two that are compared the first is always the shorter. */
STANDIN_API int cuEventElapsedTime(float *ms, cu_event start, cu_event end);
int cuEventElapsedTime(float *ms, cu_event start, cu_event end) {
  static int calls;
  int code = standin_gate(true);
  if (code) return code;
  pthread_mutex_lock(&standin_lock);
  bool right = start->timed && end->timed && start->recorded && start->done >= start->recorded && end->recorded &&
               end->done >= end->recorded;
  *ms = (float)++calls;
  pthread_mutex_unlock(&standin_lock);
  return right ? OK : INVALID_VALUE;
}

/* ---- graphs ---- */

STANDIN_API int cuStreamBeginCapture_v2(cu_stream s, int mode);
int cuStreamBeginCapture_v2(cu_stream s, int mode) {
  int code = standin_gate(true);
  if (code) return code;
  if (mode < 0 || mode > CU_CAPTURE_RELAXED || s->capture) return s->capture ? unsupported(s) : INVALID_VALUE;
  cu_graph g = calloc(1, sizeof *g);
  g->last = &g->first;
  pthread_mutex_lock(&standin_lock);
  s->invalid = false;
  s->capture = g;
  standin_made(1);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuGraphDestroy(cu_graph g);
int cuGraphDestroy(cu_graph g) {
  free_list(g->first);
  free(g);
  pthread_mutex_lock(&standin_lock);
  standin_made(-1);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

/* The capture ends whatever it returns. */
STANDIN_API int cuStreamEndCapture(cu_stream s, cu_graph *graph);
int cuStreamEndCapture(cu_stream s, cu_graph *graph) {
  int code = standin_gate(true);
  cu_graph g = s->capture;
  *graph = NULL;
  if (!g) return code ? code : INVALID_VALUE;
  s->capture = NULL;
  if (!code && s->invalid) code = CAPTURE_INVALIDATED;
  if (code)
    cuGraphDestroy(g);
  else
    *graph = g;
  return code;
}

STANDIN_API int cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph g, uint64_t flags);
int cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph g, uint64_t flags) {
  int code = standin_gate(true);
  if (code || flags) return code ? code : INVALID_VALUE;
  cu_graph_exec e = calloc(1, sizeof *e);
  standin_op **last = &e->first;
  for (const standin_op *op = g->first; op; op = op->next) {
    *last = malloc(sizeof **last);
    **last = *op;
    (*last)->next = NULL;
    last = &(*last)->next;
  }
  e->refs = 1;
  *exec = e;
  pthread_mutex_lock(&standin_lock);
  standin_made(1);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuGraphExecDestroy(cu_graph_exec e);
int cuGraphExecDestroy(cu_graph_exec e) {
  pthread_mutex_lock(&standin_lock);
  drop_exec(e);
  standin_made(-1);
  pthread_mutex_unlock(&standin_lock);
  return standin_lost();
}

STANDIN_API int cuGraphLaunch(cu_graph_exec e, cu_stream s);
int cuGraphLaunch(cu_graph_exec e, cu_stream s) {
  int code = standin_gate(true);
  if (code) return code;
  return s->capture ? unsupported(s) : standin_put(s, &(standin_op){.kind = OP_GRAPH, .exec = e});
}
