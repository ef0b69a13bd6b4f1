/* SPDX-License-Identifier: Apache-2.0
 * exec/waits.c - see waits.h. */
#include "exec/waits.h"

#include "plan/transfers.h"

/* The step that makes |*v|, or NULL; a view leads to what it looks at, which |*v| is then. */
static ox_step *writer_of(ox_context *c, ox_id *v, uint32_t reader) {
  for (uint32_t i = reader; i-- > 0;) {
    const ox_node *n = c->steps[i].node;
    for (uint32_t k = 0; k < n->n_out; k++) {
      if (n->out[k] != *v) continue;
      if (c->steps[i].unit->kind != OX_UNIT_VIEW) return &c->steps[i];
      *v = n->in[0], reader = i;
      return writer_of(c, v, reader);
    }
  }
  return NULL;
}

/* Whether |s| has to wait for |writer| before it reads |v|. One stream keeps the order, but the host reads what inference
 * and views need, and a kernel may read its inputs in host memory before it puts work on the stream. */
static bool must_wait(const ox_context *c, const ox_step *s, const ox_step *writer, ox_id v) {
  if (!writer || !writer->c.stream || writer->mode == OX_MODE_DONE) return false;
  if (s->unit->def && (s->unit->def->traits & OX_SHAPE_ONLY)) return false; /* it reads no bytes */
  if (writer->unit->kind == OX_UNIT_PROGRAM && writer->unit->owner->api.part_out_memory && !c->slots[v].memory)
    return false; /* it was there when the program had put its work on the stream */
  if (writer->c.stream != s->c.stream) return true;
  if (!ox_host_reads(c->plan->providers, c->slots[v].memory)) return false;
  return s->mode == OX_MODE_DYNAMIC || (!c->slots[v].memory && s->unit->owner->api.n_memories);
}

static ox_status *make_event(const ox_provider *p, void **out) {
  void *event = NULL; /* whatever a failed call left here is ignored */
  OX_TRY(p->api.event_create(p->ep, &event));
  *out = event;
  return event ? NULL : ox_fail(OX_FAIL, "event_create returned no event");
}

static ox_status *wait_for(ox_context *c, ox_step *s, ox_step *writer) {
  const ox_provider *p = writer->unit->owner;
  for (uint32_t i = 0; i < s->n_waits; i++)
    if (s->waits[i] == writer) return NULL;
  if (!writer->event) OX_TRY(ox_unit_note(make_event(p, &writer->event), c->plan, writer->unit));
  s->waits[s->n_waits++] = writer;
  return NULL;
}

ox_status *ox_context_add_waits(ox_context *c) {
  for (uint32_t i = 0; i < c->n_steps && c->devices.streams; i++) {
    ox_step *s = &c->steps[i];
    const ox_node *n = s->node;
    uint32_t n_reads = n->n_in + s->unit->n_captured;
    bool view = s->unit->kind == OX_UNIT_VIEW; /* a reader of a view waits for the value behind it */
    if (s->mode == OX_MODE_DONE || s->mode == OX_MODE_VIEW) continue;
    s->waits = OX_ARENA_ARRAY(&c->arena, ox_step *, n_reads);
    if (!s->waits) return ox_oom();
    for (uint32_t k = view; k < n_reads; k++) {
      ox_id v = k < n->n_in ? n->in[k] : s->unit->captured[k - n->n_in];
      ox_step *writer = v == OX_NONE ? NULL : writer_of(c, &v, i);
      if (!must_wait(c, s, writer, v)) continue;
      OX_TRY(wait_for(c, s, writer));
      c->slots[v].awaited = true;
    }
  }
  return NULL;
}

void ox_context_release_events(ox_context *c) {
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_step *s = &c->steps[i];
    if (s->event) s->unit->owner->api.event_release(s->unit->owner->ep, s->event);
    s->event = NULL;
  }
}

ox_status *ox_step_wait(ox_step *s) {
  for (uint32_t i = 0; i < s->n_waits; i++) {
    const ox_provider *p = s->waits[i]->unit->owner;
    OX_TRY(ox_status_note(p->api.event_sync(p->ep, s->waits[i]->event), "provider '%s'", p->api.name));
  }
  return NULL;
}

ox_status *ox_step_record(ox_step *s) {
  const ox_provider *p = s->unit->owner;
  return s->event ? p->api.event_record(p->ep, s->event, s->c.stream) : NULL;
}
