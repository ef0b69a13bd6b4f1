/* SPDX-License-Identifier: Apache-2.0
 * exec/waits.c - see waits.h. */
#include "exec/waits.h"

/* The step that wrote what lies behind |v|: views and values in place lead to their root's last writer before |reader|. */
static ox_step *writer_of(ox_context *c, ox_id v, uint32_t reader) {
  for (uint32_t i = reader; i-- > 0;) {
    const ox_node *n = c->steps[i].node;
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] == v) {
        if (c->steps[i].unit->kind == OX_UNIT_VIEW) return writer_of(c, n->in[0], i);
        return &c->steps[i];
      }
  }
  return NULL;
}

static ox_status *wait_for(ox_context *c, ox_step *s, ox_step *writer) {
  const ox_provider *p = writer->unit->owner;
  for (uint32_t i = 0; i < s->n_waits; i++)
    if (s->waits[i] == writer) return NULL;
  if (!writer->event) OX_TRY(ox_unit_note(p->api.event_create(p->ep, &writer->event), c->plan, writer->unit));
  s->waits[s->n_waits++] = writer;
  return NULL;
}

ox_status *ox_context_add_waits(ox_context *c) {
  for (uint32_t i = 0; i < c->n_steps && c->devices.streams; i++) {
    ox_step *s = &c->steps[i];
    const ox_node *n = s->node;
    uint32_t n_reads = n->n_in + s->unit->n_captured;
    if (s->mode == OX_MODE_DONE || s->unit->kind == OX_UNIT_VIEW) continue; /* who reads a view waits */
    s->waits = OX_ARENA_ARRAY(&c->arena, ox_step *, n_reads);
    if (!s->waits) return ox_oom();
    for (uint32_t k = 0; k < n_reads; k++) {
      ox_id v = k < n->n_in ? n->in[k] : s->unit->captured[k - n->n_in];
      ox_step *writer = v == OX_NONE ? NULL : writer_of(c, v, i);
      if (writer && writer->c.stream && writer->c.stream != s->c.stream) OX_TRY(wait_for(c, s, writer));
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
    OX_TRY(p->api.event_sync(p->ep, s->waits[i]->event));
  }
  return NULL;
}

ox_status *ox_step_record(ox_step *s) {
  const ox_provider *p = s->unit->owner;
  return s->event ? p->api.event_record(p->ep, s->event, s->c.stream) : NULL;
}
