/* SPDX-License-Identifier: Apache-2.0
 * support/device_work.c - see device_work.h. A job has copies of all it needs but the bytes: when it is done, the call
 * that put it on the stream has long returned. */
#include "support/device_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/status.h"
#include "support/device_ep.h"
#include "support/device_memory.h"
#include "support/ep_watch.h"

enum { TENSOR_ALIGN = 256 }; /* of the device's memory, as its table says */

/* ---- tensors as the device sees them ---- */

typedef struct {
  uint32_t n_in, n_out;
  ox_tensor *t; /* inputs, then outputs */
  const ox_tensor **in;
  ox_tensor **out;
} operands;

static void operands_free(operands *o) {
  free(o->t);
  free(o->in);
  free(o->out);
}

static ox_status *operands_init(const ox_ep_host *host, operands *o, uint32_t n_in, const ox_tensor *const *in,
                                uint32_t n_out, ox_tensor *const *out) {
  *o = (operands){n_in, n_out, calloc((size_t)n_in + n_out + 1, sizeof *o->t), calloc(n_in + 1u, sizeof *o->in),
                  calloc(n_out + 1u, sizeof *o->out)};
  for (uint32_t i = 0; i < n_in + n_out; i++) {
    const ox_tensor *theirs = i < n_in ? in[i] : out[i - n_in];
    if (!theirs) continue;
    if (device_memory_holds(theirs->data) && (uintptr_t)theirs->data % TENSOR_ALIGN) {
      operands_free(o);
      return host->status_make(OX_FAIL, "a tensor does not lie on a multiple of what the memory asks for");
    }
    o->t[i] = *theirs, o->t[i].data = device_memory_open(theirs->data);
    if (i < n_in)
      o->in[i] = &o->t[i];
    else
      o->out[i - n_in] = &o->t[i];
  }
  return NULL;
}

/* Some output has no memory yet: its shape depends on data. */
static bool open_ended(const operands *o) {
  for (uint32_t i = 0; i < o->n_out; i++) {
    const ox_tensor *t = o->out[i];
    bool placed = !t || t->data;
    for (int d = 0; t && d < t->shape.rank; d++) placed |= t->shape.dim[d] == 0;
    if (!placed) return true;
  }
  return false;
}

/* ---- kernels ---- */

typedef struct {
  ox_kernel base;
  ox_ep_host host;
  ox_kernel *cpu;
  uint64_t constant; /* bit i: input i is there when the kernel is prepared */
} kernel;

/* What the CPU's kernel said in prepare. */
typedef struct {
  ox_kernel_ctx c;
} prepared;

typedef struct {
  ox_kernel_ctx c;           /* first: the services find the job behind it */
  const ox_kernel_ctx *real; /* the host's, while its call lasts */
  const kernel *k;
  operands o;
} job;

static void *alloc_prep(ox_kernel_ctx *c, size_t bytes) {
  const job *j = (const job *)c;
  return j->real->host->alloc_prep((ox_kernel_ctx *)j->real, bytes);
}

static void *alloc_output(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape) {
  const job *j = (const job *)c;
  if (!j->real || !j->real->host->alloc_output(j->real, index, shape)) return NULL;
  *j->c.out[index] = *j->real->out[index];
  return j->c.out[index]->data = device_memory_open(j->real->out[index]->data);
}

static void *no_alloc_run(const ox_kernel_ctx *c, size_t bytes) {
  (void)c, (void)bytes;
  return NULL;
}

static void no_event(const ox_kernel_ctx *c, const char *name, int64_t start_ns, int64_t duration_ns) {
  (void)c, (void)name, (void)start_ns, (void)duration_ns;
}

static ox_status *make_status(ox_code code, const char *text) { return ox_fail(code, "%s", text); }

static ox_status *alone(const ox_kernel_ctx *c, int64_t n,
                        ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx) {
  (void)c;
  return n > 0 ? fn(ctx, 0, n, 0) : NULL;
}

static uint32_t one_worker(const ox_kernel_ctx *c) {
  (void)c;
  return 1;
}

static int stopped(const ox_kernel_ctx *c) {
  const job *j = (const job *)c;
  return j->real && j->real->host->stopped(j->real);
}

static ox_status *pack(ox_kernel_ctx *c, const ox_pack *p, const void **out_data) {
  const job *j = (const job *)c;
  return j->real->host->pack((ox_kernel_ctx *)j->real, p, out_data);
}

static ox_status *pack_pieces(ox_kernel_ctx *c, const ox_pack *p, const void **out_data) {
  const job *j = (const job *)c;
  return j->real->host->pack_pieces((ox_kernel_ctx *)j->real, p, out_data);
}

static void constant(const ox_kernel_ctx *c, uint32_t input, int64_t first, int64_t n, void *to) {
  const job *j = (const job *)c;
  j->real->host->constant(j->real, input, first, n, to);
}

static const ox_ctx_host services = {sizeof services, alloc_prep, alloc_output, no_alloc_run, no_event, make_status,
                                     alone,           one_worker, stopped,      NULL,         NULL,     pack,
                                     pack_pieces,     constant,   NULL,         NULL,         NULL,
                                     NULL};

static ox_status *job_create(const kernel *k, const ox_kernel_ctx *c, job **out) {
  job *j = *out = calloc(1, sizeof *j);
  ox_status *st = operands_init(&k->host, &j->o, c->n_in, c->in, c->n_out, c->out);
  if (st) {
    free(j);
    return st;
  }
  j->c = *c, j->real = c, j->k = k;
  j->c.in = j->o.in, j->c.out = j->o.out, j->c.host = &services;
  return NULL;
}

static void job_destroy(job *j) {
  operands_free(&j->o);
  free(j);
}

static ox_status *prepare(ox_kernel *base, ox_kernel_ctx *c) {
  const kernel *k = (const kernel *)base;
  job *j;
  OX_TRY(ep_watch_call(&k->host, EP_PREPARE));
  prepared *p = c->host->alloc_prep(c, sizeof *p);
  if (!p) return k->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  OX_TRY(job_create(k, c, &j));
  for (uint32_t i = 0; i < c->n_in; i++) /* what a stream is still to compute must not be read */
    if (j->o.in[i] && device_memory_holds(c->in[i]->data) && !(i < 64 && (k->constant >> i & 1))) j->o.t[i].data = NULL;
  ox_status *st = k->cpu->api->prepare(k->cpu, &j->c);
  p->c = j->c;
  c->prep = p;
  job_destroy(j);
  return st;
}

static ox_status *run_stages(job *j) {
  ox_kernel *cpu = j->k->cpu;
  size_t scratch_bytes = OX_ROUND_UP(j->c.scratch_per_worker + OX_PAD_BYTES, 64);
  size_t shared_bytes = OX_ROUND_UP(j->c.shared_bytes + OX_PAD_BYTES, 64);
  void *scratch = aligned_alloc(64, scratch_bytes);
  ox_status *st = NULL;
  j->c.shared = aligned_alloc(64, shared_bytes);
  for (uint32_t stage = 0; stage < j->c.n_stages && !st; stage++)
    if (j->c.n_tiles[stage]) st = cpu->api->run(cpu, &j->c, stage, 0, j->c.n_tiles[stage], scratch);
  free(scratch);
  free(j->c.shared);
  return st;
}

static ox_status *work(void *data) {
  job *j = data;
  ox_status *st = ep_watch_call(&j->k->host, EP_LATER);
  if (!st) st = run_stages(j);
  job_destroy(j);
  return st;
}

static ox_status *run_kernel(ox_kernel *base, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                             void *scratch) {
  const kernel *k = (const kernel *)base;
  const ox_kernel_ctx *p = &((const prepared *)c->prep)->c;
  job *j;
  (void)stage, (void)begin, (void)end, (void)scratch;
  OX_TRY(ep_watch_call(&k->host, EP_KERNEL_RUN));
  OX_TRY(job_create(k, c, &j));
  j->c.attrs = p->attrs, j->c.state = p->state, j->c.prep = p->prep, j->c.op_version = p->op_version, j->c.isa = p->isa;
  j->c.n_stages = p->n_stages, memcpy(j->c.n_tiles, p->n_tiles, sizeof p->n_tiles);
  j->c.scratch_per_worker = p->scratch_per_worker, j->c.shared_bytes = p->shared_bytes;
  if (c->stream && !open_ended(&j->o)) {
    j->real = NULL;
    device_stream_put(c->stream, work, j);
    return NULL;
  }
  ox_status *st = c->stream ? device_stream_sync(c->stream) : NULL;
  if (!st) return work(j);
  job_destroy(j);
  return st;
}

static void release(ox_kernel *base) {
  kernel *k = (kernel *)base;
  k->cpu->api->release(k->cpu);
  k->host.alloc.free(k->host.alloc.ctx, k, sizeof *k);
  ep_watch_gone();
}

static void traits(const ox_kernel *base, ox_kernel_traits *out) {
  const kernel *k = (const kernel *)base;
  k->cpu->api->traits(k->cpu, out);
}

static const ox_kernel_api kernel_api = {sizeof kernel_api, prepare, run_kernel, release, traits, NULL};

ox_status *device_kernel_create(const ox_ep_host *host, const ox_graph_view *g, size_t node, ox_kernel *cpu,
                                ox_kernel **out_kernel) {
  kernel *k = host->alloc.alloc(host->alloc.ctx, sizeof *k, 16);
  if (!k) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *k = (kernel){.base = {&kernel_api, cpu->consumed}, .host = *host, .cpu = cpu};
  for (size_t i = 0; i < host->node_in_count(g, node) && i < 64; i++)
    if (host->value_const(g, host->node_in(g, node, i))) k->constant |= (uint64_t)1 << i;
  ep_watch_made();
  *out_kernel = &k->base;
  return NULL;
}

/* ---- programs ---- */

typedef struct {
  ox_io io; /* first */
  const ox_io *real;
  const ox_ep_host *host;
  part_program *program;
  operands o;
} part_job;

static void *alloc_part_output(const ox_io *io, uint32_t index, const ox_shape *shape) {
  const part_job *j = (const part_job *)io;
  if (!j->real || !j->real->alloc_output(j->real, index, shape)) return NULL;
  *j->io.out[index] = *j->real->out[index];
  return j->io.out[index]->data = device_memory_open(j->real->out[index]->data);
}

static ox_status *part_work(void *data) {
  part_job *j = data;
  ox_status *st = ep_watch_call(j->host, EP_LATER);
  if (!st) st = part_program_run(j->program, &j->io);
  operands_free(&j->o);
  free(j);
  return st;
}

ox_status *device_program_run(const ox_ep_host *host, part_program *p, const ox_io *io) {
  OX_TRY(ep_watch_call(host, EP_PROGRAM_RUN));
  part_job *j = calloc(1, sizeof *j);
  ox_status *st = operands_init(host, &j->o, io->n_in, io->in, io->n_out, io->out);
  if (st) {
    free(j);
    return st;
  }
  j->io = *io, j->real = io, j->host = host, j->program = p;
  j->io.in = j->o.in, j->io.out = j->o.out, j->io.alloc_output = alloc_part_output;
  if (io->stream && !open_ended(&j->o)) {
    j->real = NULL;
    device_stream_put(io->stream, part_work, j);
    return NULL;
  }
  st = io->stream ? device_stream_sync(io->stream) : NULL;
  if (!st) return part_work(j);
  operands_free(&j->o);
  free(j);
  return st;
}

/* ---- copies ---- */

typedef struct {
  const ox_ep_host *host;
  void *to;
  const void *from;
  size_t bytes;
} copy_job;

static ox_status *copy_work(void *data) {
  copy_job *j = data;
  ox_status *st = ep_watch_call(j->host, EP_LATER);
  if (!st) memcpy(j->to, j->from, j->bytes);
  free(j);
  return st;
}

ox_status *device_copy(const ox_ep_host *host, void *to, const void *from, size_t bytes, device_stream *stream) {
  copy_job *j = malloc(sizeof *j);
  *j = (copy_job){host, device_memory_open(to), device_memory_open(from), bytes};
  if (!stream) return copy_work(j);
  device_stream_put(stream, copy_work, j);
  return NULL;
}
