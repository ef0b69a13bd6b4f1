/* SPDX-License-Identifier: Apache-2.0
 * exec/program.c - see program.h. */
#include "exec/program.h"

#include "base/macros.h"
#include "graph/part_infer.h"

/* Asked for by the program: what the host knows of the output must not be contradicted. */
static void *alloc_output(const ox_io *io, uint32_t index, const ox_shape *shape) {
  ox_step *s = io->host_data;
  const ox_tensor *t = index < io->n_out ? io->out[index] : NULL;
  if (!t || t->kind != OX_TENSOR || !t->dtype || !ox_shape_known(shape)) return NULL;
  if (t->shape.rank >= 0 && t->shape.rank != shape->rank) return NULL;
  for (int d = 0; d < t->shape.rank; d++)
    if (t->shape.dim[d] >= 0 && t->shape.dim[d] != shape->dim[d]) return NULL;
  return ox_step_output(s, index, shape);
}

static void profile_event(const ox_io *io, const char *name, int64_t start_ns, int64_t duration_ns) {
  ox_step_event(io->host_data, name, start_ns, duration_ns);
}

static void *alloc_run(const ox_io *io, size_t bytes) {
  ox_step *s = io->host_data;
  return s->memory->run(s, bytes);
}

/* Types and contents of the part's values for this run, in |arena|. */
static ox_status *infer(const ox_io *io, ox_arena *arena, ox_part_values *out) {
  ox_step *s = io->host_data;
  const ox_tensor **data = OX_ARENA_ARRAY(arena, const ox_tensor *, s->c.n_in);
  if (!data) return ox_oom();
  for (uint32_t i = 0; i < s->c.n_in; i++) { /* by now also what lies in host memory is known */
    bool host = s->c.in[i] && !s->graph->values[s->node->in[i]].memory;
    data[i] = s->data[i] ? s->data[i] : host ? s->c.in[i] : NULL;
  }
  return ox_part_infer_values(s->unit->part->graph, s->types, data, arena, out);
}

static ox_status *infer_shapes(const ox_io *io, ox_shape *out_shapes, size_t n) {
  const ox_step *s = io->host_data;
  const ox_graph *part = s->unit->part->graph;
  ox_part_values values;
  ox_arena arena;
  ox_arena_init(&arena, s->infer.alloc);
  ox_status *st = infer(io, &arena, &values);
  for (size_t v = 0; v < n && !st; v++)
    out_shapes[v] = v < part->n_values ? values.types[v].shape : (ox_shape){.rank = -1};
  ox_arena_deinit(&arena);
  return st;
}

static ox_status *infer_values(const ox_io *io, ox_values_fn take, void *ctx) {
  const ox_step *s = io->host_data;
  const ox_graph *part = s->unit->part->graph;
  ox_part_values values;
  ox_arena arena;
  ox_arena_init(&arena, s->infer.alloc);
  ox_status *st = infer(io, &arena, &values);
  ox_shape *shapes = st ? NULL : OX_ARENA_ARRAY(&arena, ox_shape, part->n_values);
  if (!st && !shapes) st = ox_oom();
  for (size_t v = 0; v < part->n_values && !st; v++) shapes[v] = values.types[v].shape;
  if (!st) st = take(ctx, shapes, values.data, part->n_values);
  ox_arena_deinit(&arena);
  return st;
}

/* An output that the program made, or whose memory was there before. No tensor: at least its shape is set. */
static bool is_made(const ox_tensor *t) {
  return t->data || t->kind == OX_NONE_VALUE || (ox_shape_known(&t->shape) && !t->bytes);
}

ox_status *ox_program_run(ox_step *s, const ox_step_crew *crew) {
  const ox_provider *p = s->unit->owner;
  const ox_io io = {.struct_size = sizeof io,
                    .n_in = s->c.n_in,
                    .n_out = s->c.n_out,
                    .in = s->c.in,
                    .out = s->c.out,
                    .alloc_output = alloc_output,
                    .host_data = s,
                    .stream = s->c.stream,
                    .cancel = crew->watch ? crew->watch->cancel : NULL,
                    .deadline_ns = crew->watch ? crew->watch->deadline_ns : 0,
                    .profile_event = profile_event,
                    .alloc_run = alloc_run,
                    .infer_shapes = infer_shapes,
                    .infer_values = infer_values};
  OX_TRY(p->api.run(s->unit->program, &io));
  for (uint32_t i = 0; i < s->c.n_out; i++) {
    if (is_made(s->c.out[i])) continue;
    return ox_fail(OX_FAIL, "the program left output %u ('%s') without a shape or memory", i,
                   s->graph->values[s->node->out[i]].name);
  }
  return NULL;
}
