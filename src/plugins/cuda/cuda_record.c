/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_record.c - records are CUDA graphs made by stream capture. */
#include "plugins/cuda/cuda.h"

struct dev_record {
  dev_device *device;
  cu_graph_exec exec;
  cu_address workspace; /* used by captured library calls; 0: none */
};

/* The capture is relaxed, so that it is not invalidated by allocations and waits of other threads, or of a library
 * within captured calls. */
static ox_status *begin_within(dev_queue *q) {
  if (q->capturing) return dev_fail(&q->device->host, OX_INVALID_ARGUMENT, "CUDA: the queue is recording already");
  cuda_record_recover(q);
  void *workspace; /* allocated first, as it cannot be reallocated during a capture */
  size_t bytes;
  ox_status *st = cuda_workspace(q, &workspace, &bytes);
  if (st) return st;
  CU_TRY(q->device, cuStreamBeginCapture_v2, q->stream, CU_CAPTURE_RELAXED);
  q->capturing = true;
  q->workspace_captured = false;
  return NULL;
}

ox_status *cuda_record_begin(dev_queue *q) { CUDA_WITHIN(q->device, begin_within(q)); }

enum { ILLEGAL_STATE = 401, CAPTURE_FIRST = 900, CAPTURE_LAST = 908 }; /* the stream is not, or no longer, captured */

void cuda_record_abandon(dev_queue *q) {
  cu_graph graph = NULL;
  int code = cu.cuStreamEndCapture(q->stream, &graph);
  if (!code && graph) cu.cuGraphDestroy(graph);
  q->capturing = false;
  q->stuck = code && code != ILLEGAL_STATE && (code < CAPTURE_FIRST || code > CAPTURE_LAST);
}

void cuda_record_recover(dev_queue *q) {
  if (q->stuck) cuda_record_abandon(q);
}

static ox_status *end_within(dev_queue *q, cu_graph_exec *out) {
  cu_graph graph = NULL;
  const dev_device *d = q->device;
  if (!q->capturing) return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: the queue is not recording");
  q->capturing = false;
  int code = cu.cuStreamEndCapture(q->stream, &graph);
  q->stuck = code != 0;
  if (code) return cuda_fail(&d->host, "cuStreamEndCapture", code);
  code = cu.cuGraphInstantiateWithFlags(out, graph, 0);
  cu.cuGraphDestroy(graph);
  return code ? cuda_fail(&d->host, "cuGraphInstantiateWithFlags", code) : NULL;
}

static ox_status *end_capture(dev_queue *q, cu_graph_exec *out) { CUDA_WITHIN(q->device, end_within(q, out)); }

ox_status *cuda_record_end(dev_queue *q, dev_record **out_record) {
  dev_device *d = q->device;
  *out_record = NULL;
  dev_record *r = dev_new(&d->host, sizeof *r);
  if (!r) { /* the queue must leave capture mode all the same */
    bool pushed = cuda_enter_anyway(d);
    if (q->capturing) cuda_record_abandon(q);
    cuda_leave(pushed);
    return dev_no_memory(&d->host);
  }
  r->device = d;
  ox_status *st = end_capture(q, &r->exec);
  if (st && q->capturing) q->capturing = false, q->stuck = true; /* the context could not be entered */
  if (st) {
    dev_drop(&d->host, r, sizeof *r);
    return st;
  }
  if (q->workspace_captured) { /* the queue will allocate another one */
    r->workspace = q->workspace;
    q->workspace = 0, q->workspace_bytes = 0, q->workspace_captured = false;
  }
  *out_record = r;
  return NULL;
}

static ox_status *launch_within(dev_queue *q, dev_record *r) {
  cuda_record_recover(q);
  CU_TRY(q->device, cuGraphLaunch, r->exec, q->stream);
  return NULL;
}

ox_status *cuda_record_launch(dev_queue *q, dev_record *r) { CUDA_WITHIN(q->device, launch_within(q, r)); }

void cuda_record_release(dev_record *r) {
  if (!r) return;
  const dev_device *d = r->device;
  bool pushed = cuda_enter_anyway(d);
  cu.cuGraphExecDestroy(r->exec);
  if (r->workspace) cu.cuMemFree_v2(r->workspace);
  cuda_leave(pushed);
  dev_drop(&d->host, r, sizeof *r);
}
