/* SPDX-License-Identifier: Apache-2.0
 * support/part_program.c - see part_program.h. Each run borrows a frame whose context fits its shapes. */
#include "support/part_program.h"

#include <pthread.h>
#include <string.h>

#include "base/macros.h"
#include "ep/cpu/ep_cpu.h"
#include "ep/view.h"
#include "exec/context.h"
#include "plan/plan.h"

enum { MOST_IDLE = 16 };

typedef struct frame {
  ox_run_sink sink; /* first: its functions find the frame behind it */
  const ox_io *io;
  ox_run_env env;
  ox_arena arena;
  ox_run_memory run_memory;
  ox_context *context;
} frame;

struct part_program {
  ox_ep_host host;
  ox_log log;
  ox_provider *providers; /* whatever number owns the part's nodes: the CPU provider */
  size_t n_providers;
  ox_ep *cpu;
  const ox_graph *graph;
  ox_plan *plan;
  pthread_mutex_t lock;
  frame *idle[MOST_IDLE];
  uint32_t n_idle;
};

/* ---- life ---- */

static ox_status *make_plan(part_program *p) {
  OX_TRY(ox_ep_cpu()->create(&p->host, NULL, &p->cpu));
  for (ox_id i = 0; i < p->graph->n_nodes; i++)
    p->n_providers = OX_MAX(p->n_providers, p->graph->nodes[i].assigned.owner);
  p->providers = ox_new_zeroed(p->host.alloc, p->n_providers * sizeof *p->providers);
  if (!p->providers) return ox_oom();
  for (size_t i = 0; i < p->n_providers; i++) OX_TRY(ox_ep_adopt(ox_ep_cpu(), &p->providers[i].api));
  for (size_t i = 0; i < p->n_providers; i++) p->providers[i].ep = p->cpu;
  const ox_plan_opts o = {.alloc = p->host.alloc,
                          .log = &p->log,
                          .pool = ox_pool_default(),
                          .providers = p->providers,
                          .n_providers = p->n_providers};
  return ox_plan_build(p->graph, &o, &p->plan);
}

ox_status *part_program_create(const ox_ep_host *host, const ox_graph_view *part, part_program **out_program) {
  part_program *p = *out_program = ox_new_zeroed(host->alloc, sizeof *p);
  if (!p) return ox_oom();
  p->host = *host, p->graph = part->graph;
  pthread_mutex_init(&p->lock, NULL);
  ox_status *st = make_plan(p);
  if (!st) return NULL;
  part_program_destroy(p);
  *out_program = NULL;
  return st;
}

static void destroy_frame(part_program *p, frame *f) {
  if (!f) return;
  ox_context_destroy(f->context);
  ox_arena_deinit(&f->arena);
  ox_run_memory_deinit(&f->run_memory);
  ox_delete(p->host.alloc, f, sizeof *f);
}

void part_program_destroy(part_program *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->n_idle; i++) destroy_frame(p, p->idle[i]);
  ox_plan_destroy(p->plan);
  if (p->cpu) ox_ep_cpu()->destroy(p->cpu);
  ox_delete(p->host.alloc, p->providers, p->n_providers * sizeof *p->providers);
  pthread_mutex_destroy(&p->lock);
  ox_delete(p->host.alloc, p, sizeof *p);
}

/* ---- outputs ---- */

static ox_status *sink_tensor(ox_run_sink *sink, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes,
                              void **out_data) {
  const ox_io *io = ((frame *)sink)->io;
  ox_tensor *t = io->out[index];
  char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  bool there = t->data || (ox_shape_known(&t->shape) && !t->bytes), fits = there && ox_shape_equal(&t->shape, shape);
  if (t->dtype != dtype || (there && (!fits || t->bytes != bytes)))
    return ox_fail(OX_FAIL, "output %u: the host has %s%s, it is %s%s", index, ox_dtype_name(t->dtype),
                   ox_shape_text(&t->shape, a), ox_dtype_name(dtype), ox_shape_text(shape, b));
  *out_data = fits ? t->data : io->alloc_output(io, index, shape);
  if (*out_data || fits) return NULL;
  return ox_fail(OX_OUT_OF_MEMORY, "output %u: no memory from the host for shape %s, it wants %s", index,
                 ox_shape_text(shape, a), ox_shape_text(&t->shape, b));
}

static ox_status *copy_value(const ox_io *io, const ox_tensor *from, ox_tensor *to, bool placed);

static ox_status *copy_strings(const ox_io *io, const ox_tensor *from, ox_str *to) {
  const ox_str *s = from->data;
  for (size_t i = 0; i < from->bytes / sizeof *s; i++) {
    char *p = io->alloc_run(io, s[i].n);
    if (!p) return ox_oom();
    if (s[i].n) memcpy(p, s[i].p, s[i].n);
    to[i] = (ox_str){p, s[i].n};
  }
  return NULL;
}

static ox_status *copy_items(const ox_io *io, const ox_tensor *from, ox_tensor *to) {
  size_t n = (size_t)from->shape.dim[0];
  const ox_tensor *const *items = from->data, **list = io->alloc_run(io, n * sizeof *list);
  if (!list) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    ox_tensor *item = io->alloc_run(io, sizeof *item);
    if (!item) return ox_oom();
    OX_TRY(copy_value(io, items[i], item, false));
    list[i] = item;
  }
  to->data = (void *)list;
  return NULL;
}

/* |placed|: |to| has its memory already. Maps and sparse tensors are two tensors each. */
static ox_status *copy_value(const ox_io *io, const ox_tensor *from, ox_tensor *to, bool placed) {
  void *data = placed ? to->data : NULL;
  *to = *from, to->data = data;
  if (from->kind == OX_NONE_VALUE) return NULL;
  if (from->kind == OX_SEQUENCE) return copy_items(io, from, to);
  size_t bytes = from->kind == OX_TENSOR ? from->bytes : 2 * sizeof *from;
  if (!to->data && !(to->data = io->alloc_run(io, bytes))) return ox_oom();
  if (from->kind != OX_TENSOR) {
    for (int i = 0; i < 2; i++)
      OX_TRY(copy_value(io, (const ox_tensor *)from->data + i, (ox_tensor *)to->data + i, false));
    return NULL;
  }
  if (from->dtype == OX_STRING) return copy_strings(io, from, to->data);
  if (bytes) memcpy(to->data, from->data, bytes);
  return NULL;
}

static ox_status *sink_other(ox_run_sink *sink, uint32_t index, const ox_tensor *t) {
  const ox_io *io = ((frame *)sink)->io;
  void *data = NULL;
  if (t->kind != OX_TENSOR) return copy_value(io, t, io->out[index], false);
  OX_TRY(sink_tensor(sink, index, t->dtype, &t->shape, t->bytes, &data));
  return copy_value(io, t, io->out[index], true);
}

/* ---- running ---- */

static frame *take(part_program *p, const ox_io *io) {
  frame *f = NULL;
  pthread_mutex_lock(&p->lock);
  for (uint32_t i = p->n_idle; i-- > 0 && !f;) {
    const ox_type *key = p->idle[i]->context->key;
    bool fits = true;
    for (uint32_t k = 0; k < io->n_in && fits; k++)
      fits = key[k].kind == io->in[k]->kind && key[k].dtype == io->in[k]->dtype &&
             (key[k].kind != OX_TENSOR || ox_shape_equal(&key[k].shape, &io->in[k]->shape));
    if (!fits) continue;
    f = p->idle[i];
    p->idle[i] = p->idle[--p->n_idle];
  }
  pthread_mutex_unlock(&p->lock);
  return f;
}

static void give(part_program *p, frame *f) {
  frame *old = NULL;
  pthread_mutex_lock(&p->lock);
  if (p->n_idle == MOST_IDLE) old = p->idle[--p->n_idle];
  p->idle[p->n_idle++] = f;
  pthread_mutex_unlock(&p->lock);
  destroy_frame(p, old);
}

static ox_status *make_frame(part_program *p, const ox_io *io, frame **out) {
  frame *f = ox_new_zeroed(p->host.alloc, sizeof *f);
  if (!f) return ox_oom();
  ox_arena_init(&f->arena, p->host.alloc);
  ox_run_memory_init(&f->run_memory, p->host.alloc);
  f->sink = (ox_run_sink){sink_tensor, sink_other};
  f->env = (ox_run_env){.alloc = p->host.alloc, .max_threads = 1, .run_memory = &f->run_memory};
  ox_type *key = OX_ARENA_ARRAY(&f->arena, ox_type, io->n_in + 1);
  ox_status *st = key ? NULL : ox_oom();
  if (!st && ox_context_bound(p->plan, NULL, 0) != io->n_in)
    st = ox_fail(OX_FAIL, "the part has %u inputs, the run %u", ox_context_bound(p->plan, NULL, 0), io->n_in);
  for (uint32_t i = 0; i < io->n_in && !st; i++) {
    key[i] = p->graph->values[p->graph->inputs[i]].type;
    key[i].kind = io->in[i]->kind, key[i].dtype = io->in[i]->dtype, key[i].shape = io->in[i]->shape;
  }
  if (!st) st = ox_context_create(p->plan, &f->env, key, NULL, true, &f->context);
  if (st)
    destroy_frame(p, f);
  else
    *out = f;
  return st;
}

ox_status *part_program_run(part_program *p, const ox_io *io) {
  frame *f = take(p, io);
  if (!f) OX_TRY(make_frame(p, io, &f));
  f->io = io;
  ox_arena_reset(&f->arena);
  ox_run_memory_reset(&f->run_memory);
  ox_status *st = ox_context_run(f->context, &f->env, io->in, &f->sink);
  give(p, f);
  return st;
}
