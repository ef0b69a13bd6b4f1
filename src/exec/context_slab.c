/* SPDX-License-Identifier: Apache-2.0
 * exec/context_slab.c - see context_slab.h. */
#include "exec/context_slab.h"

#include "base/cksize.h"
#include "base/huge_pages.h"
#include "base/macros.h"
#include "exec/lifetimes.h"
#include "exec/stretch.h"

/* Fixed addresses: slab values, and everything that looks at them. */
static void place_values(ox_context *c) {
  if (c->slab_bytes) c->shared = c->slab.at + c->values_bytes, c->scratch = c->shared + c->shared_bytes;
  for (ox_id v = 0; v < c->plan->graph->n_values; v++) {
    ox_slot *slot = &c->slots[v];
    if (slot->home != OX_HOME_SLAB) continue;
    const ox_device_memory *m = ox_device_memory_find(&c->devices, slot->memory);
    slot->t.data = (m ? m->slab : c->slab.at) + slot->offset;
  }
  for (uint32_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].mode == OX_MODE_STATIC) c->steps[i].c.shared = c->shared, c->steps[i].scratch = c->scratch;
}

static bool get_slab(ox_context *c) {
  if (c->slabs) return ox_slabs_take(c->slabs, c->workspace, c->slab_bytes, c->slab.at, &c->slab);
  c->slab = (ox_slab){ox_workspace_new(c->workspace, c->env->alloc, c->slab_bytes), c->slab_bytes};
  return c->slab.at != NULL;
}

static ox_status *take_slab(ox_context *c) {
  const char *was = c->slab.at;
  if (!c->slab_bytes) return NULL;
  c->has_slab = get_slab(c);
  if (!c->has_slab) {
    c->slab = (ox_slab){NULL, 0};
    ox_status *st = ox_fail(OX_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes", c->slab_bytes);
    return ox_lifetimes_name_largest(c, 0, st);
  }
  if (c->slab.at != was) /* not what other threads' scratch may never be */
    ox_huge_pages_touch(c->slab.at, c->values_bytes + c->shared_bytes);
  return NULL;
}

static void give_slab(ox_context *c) {
  if (!c->has_slab) return;
  c->has_slab = false;
  if (c->slabs)
    ox_slabs_give(c->slabs, c->slab);
  else
    ox_delete(c->arena.alloc, c->slab.at, c->slab.bytes);
}

ox_status *ox_context_reserve(ox_context *c) {
  size_t shared = ox_stretches_area(c), scratch = 0, workers = c->env->max_threads, total = 0, all_scratch;
  ox_workspace *w = c->workspace;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    if (c->steps[i].mode != OX_MODE_STATIC) continue;
    shared = OX_MAX(shared, ox_step_rounded(c->steps[i].c.shared_bytes));
    scratch = OX_MAX(scratch, ox_step_rounded(c->steps[i].c.scratch_per_worker));
  }
  if (!ox_mul_ok(scratch, workers, &all_scratch) || !ox_add_ok(c->values_bytes, shared, &total) ||
      !ox_add_ok(total, all_scratch, &total))
    return ox_fail(OX_LIMIT, "workspace is larger than the address space");
  if (!ox_workspace_take(w, total)) {
    ox_status *st = ox_fail(OX_LIMIT, "wanted %zu bytes of workspace; %zu are in use, the limit is %zu", total, w->held,
                            w->limit);
    return ox_lifetimes_name_largest(c, 0, st);
  }
  c->slab_bytes = total, c->shared_bytes = shared, c->scratch_bytes = scratch;
  OX_TRY(take_slab(c));
  place_values(c);
  return NULL;
}

void ox_context_give_slab(ox_context *c) {
  give_slab(c);
  ox_workspace_give(c->workspace, c->slab_bytes);
}

void ox_context_rest(ox_context *c) {
  if (c->slabs) give_slab(c);
}

ox_status *ox_context_wake(ox_context *c, ox_run_env *env) {
  const char *was = c->slab.at;
  c->env = env; /* that of the last run is somebody else's by now, and trimming uses it */
  if (c->has_slab) return NULL;
  OX_TRY(take_slab(c));
  if (c->slab.at == was) return NULL;
  place_values(c);
  ox_stretches_place(c);
  return NULL;
}
