/* SPDX-License-Identifier: Apache-2.0
 * exec/joined.c - see joined.h.
 *
 * A storage R of inputs may become a part of the output's storage C where every byte of that part is, for the kernel, a
 * byte of an input in R that would lie there: then what the kernel copies to C beside them touches nothing of R, and
 * what was in R before has been overwritten there by the rules of one storage (lifetimes.c). */
#include "exec/joined.h"

#include "base/macros.h"

enum { MOST_INPUTS = 256 /* each is compared with all others */ };

static bool in_slab(const ox_context *c, ox_id root) {
  const ox_slot *s = &c->slots[root];
  return s->home == OX_HOME_SLAB && !s->memory && s->t.dtype != OX_STRING;
}

void ox_joined_outputs(ox_context *c, uint32_t i) {
  const ox_step *s = &c->steps[i];
  const ox_node *n = s->node;
  if (s->mode != OX_MODE_STATIC || s->c.in_a_row != OX_OUTPUTS_IN_A_ROW || n->in[0] == OX_NONE) return;
  const ox_slot *in = &c->slots[n->in[0]];
  if (!in_slab(c, in->root)) return;
  size_t at = in->shift;
  for (uint32_t k = 0; k < n->n_out && n->out[k] != OX_NONE; k++) {
    ox_slot *out = &c->slots[n->out[k]];
    if (out->root == n->out[k] && in_slab(c, n->out[k]) && at % OX_ALIGN_BYTES == 0)
      out->root = in->root, out->shift = at;
    at += out->t.bytes;
  }
}

/* Whether what lies in [begin, begin + bytes) of the output is of storage |root|, and there already. */
static bool is_all_of(const ox_context *c, const ox_node *n, ox_id root, size_t begin, size_t bytes) {
  size_t at = 0;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const ox_slot *in = &c->slots[n->in[k]];
    size_t end = at + in->t.bytes;
    bool apart = end <= begin || at >= begin + bytes;
    if (!apart && (in->root != root || at != begin + in->shift)) return false;
    at = end;
  }
  return true;
}

static void move(ox_context *c, ox_id from, ox_id to, size_t by) {
  for (ox_id v = 0; v < c->plan->graph->n_values; v++) {
    ox_slot *s = &c->slots[v];
    if (s->root == from) s->root = to, s->shift += by;
  }
}

void ox_joined_inputs(ox_context *c, uint32_t i, uint32_t *root_first, uint32_t *root_last) {
  const ox_step *s = &c->steps[i];
  const ox_node *n = s->node;
  if (s->mode != OX_MODE_STATIC || s->c.in_a_row != OX_INPUTS_IN_A_ROW || n->n_in > MOST_INPUTS) return;
  ox_id to = n->out[0];
  if (to == OX_NONE || c->slots[to].root != to || !in_slab(c, to)) return;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] == OX_NONE) return;
  size_t at = 0;
  for (uint32_t k = 0; k < n->n_in; at += c->slots[n->in[k++]].t.bytes) {
    const ox_slot *in = &c->slots[n->in[k]];
    ox_id root = in->root;
    if (root == to || !in_slab(c, root) || in->shift > at || (at - in->shift) % OX_ALIGN_BYTES) continue;
    size_t begin = at - in->shift, bytes = c->slots[root].t.bytes;
    if (bytes > c->slots[to].t.bytes - begin || !is_all_of(c, n, root, begin, bytes)) continue;
    root_first[to] = OX_MIN(root_first[to], root_first[root]);
    root_last[to] = OX_MAX(root_last[to], root_last[root]);
    move(c, root, to, begin);
  }
}
