/* SPDX-License-Identifier: Apache-2.0
 * exec/step_run.c - see step_run.h. */
#include "exec/step_run.h"

#include "base/macros.h"
#include "exec/pack.h"
#include "exec/program.h"
#include "plan/transfers.h"

typedef struct {
  const ox_step *step;
  uint32_t stage;
  char *scratch;
  size_t scratch_bytes;
} stage_run;

static ox_status *run_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const stage_run *r = ctx;
  ox_kernel *k = r->step->unit->kernel;
  char *scratch = r->scratch ? r->scratch + worker * r->scratch_bytes : NULL;
  return k->api->run(k, &r->step->c, r->stage, begin, end, scratch);
}

static ox_status *run_kernel(ox_step *s, const ox_step_crew *crew, char *scratch, size_t scratch_bytes) {
  ox_kernel *k = s->unit->kernel;
  if (OX_UNLIKELY(s->late != NULL)) OX_TRY(ox_late_pack(&s->late, crew, scratch, scratch_bytes));
  for (uint32_t stage = 0; stage < s->c.n_stages; stage++) {
    int64_t tiles = s->c.n_tiles[stage];
    if (tiles <= 0) continue;
    if (OX_UNLIKELY(crew->watch != NULL) && ox_watch_stopped(crew->watch)) break;
    if (tiles == 1) {
      OX_TRY(k->api->run(k, &s->c, stage, 0, tiles, scratch));
      continue;
    }
    stage_run r = {s, stage, scratch, scratch_bytes};
    OX_TRY(ox_crew_run(crew, tiles, run_tiles, &r));
  }
  return ox_watch_status(crew->watch); /* a kernel that saw it stops without an error */
}

static ox_status *run_copy(ox_step *s) {
  const ox_provider *p = s->unit->owner;
  const ox_tensor *from = s->c.in[0];
  ox_tensor *to = s->c.out[0];
  if (from->kind != OX_TENSOR || from->dtype == OX_STRING)
    return ox_fail(OX_NOT_IMPLEMENTED, "a value that is no tensor of numbers cannot go to or from provider '%s'", p->api.name);
  uint32_t to_id = s->graph->values[s->node->out[0]].memory, from_id = s->graph->values[s->node->in[0]].memory;
  if (!from->bytes) return NULL;
  return p->api.copy(p->ep, to->data, ox_memory_index(to_id), from->data, ox_memory_index(from_id), from->bytes,
                     s->c.stream);
}

static ox_status *run_view(ox_step *s) {
  const ox_tensor *in = s->c.in[0];
  ox_tensor *out = s->c.out[0];
  if (!out) return NULL;
  if (in->kind != OX_TENSOR) {
    *out = *in;
    return NULL;
  }
  if (out->bytes != in->bytes || !ox_shape_known(&out->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "input has %zu bytes, output %zu", in->bytes, out->bytes);
  out->data = in->data;
  return NULL;
}

ox_status *ox_step_run(ox_step *s, const ox_step_crew *crew, char *scratch, size_t scratch_bytes) {
  s->crew = crew;
  switch (s->unit->kind) {
    case OX_UNIT_KERNEL:
      return run_kernel(s, crew, scratch, scratch_bytes);
    case OX_UNIT_PROGRAM:
      return ox_program_run(s, crew);
    case OX_UNIT_COPY:
      return run_copy(s);
    default:
      return run_view(s);
  }
}
