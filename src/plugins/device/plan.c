/* SPDX-License-Identifier: Apache-2.0
 * device/plan.c - see plan.h. Functions of op.h that return no status (dev_temp) report failure by an invalid
 * reference, which the next emit finds. */
#include "plugins/device/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "graph/dtype.h"

static const ox_ep_host *host_of(const dev_plan *p) { return &p->part->ep->host; }

/* ---- reading ---- */

const ox_shape *dev_shape(const dev_plan *p, uint32_t value) { return &p->shapes[value]; }

int64_t dev_count(const dev_plan *p, uint32_t value) {
  int64_t n = 1;
  for (int d = 0; d < p->shapes[value].rank; d++) n *= p->shapes[value].dim[d];
  return n;
}

uint32_t dev_dtype(const dev_plan *p, uint32_t value) {
  uint32_t kind, dtype;
  ox_shape shape;
  host_of(p)->value_type(p->part->graph, value, &kind, &dtype, &shape);
  return dtype;
}

const dev_info *dev_plan_device(const dev_plan *p) { return dev_the_driver.info(p->part->ep->device); }

/* Resolves views: the value that holds the bytes of |r|, and their offset in it. */
static dev_ref root_of(const dev_plan *p, dev_ref r) {
  while (p->values[r.id].same != r.id) r.offset += p->values[r.id].same_at, r.id = p->values[r.id].same;
  return r;
}

dev_ref dev_value(dev_plan *p, uint32_t value) {
  if (value == UINT32_MAX) return (dev_ref){DEV_REF_NONE, 0, 0};
  return root_of(p, (dev_ref){DEV_REF_VALUE, value, 0});
}

/* ---- temporaries ---- */

dev_ref dev_temp(dev_plan *p, size_t bytes) {
  if (p->n_temps == p->temp_capacity) {
    size_t more = OX_MAX(16u, 2 * p->temp_capacity);
    dev_place *temps = OX_ARENA_ARRAY(&p->zone, dev_place, more);
    if (!temps) return (dev_ref){DEV_REF_TEMP, UINT32_MAX, 0}; /* touch() reports it */
    if (p->n_temps) memcpy(temps, p->temps, p->n_temps * sizeof *temps);
    p->temps = temps, p->temp_capacity = more;
  }
  p->temps[p->n_temps] = (dev_place){.kind = DEV_PLACE_WORK, .bytes = bytes, .first = UINT32_MAX};
  return (dev_ref){DEV_REF_TEMP, (uint32_t)p->n_temps++, 0};
}

/* ---- steps ---- */

/* Copies a content that the host has computed to the device, for a kernel that reads it. */
static ox_status *copy_content(dev_plan *p, uint32_t value) {
  const ox_tensor *t = p->contents[value];
  dev_place *at = &p->values[value];
  if (at->copy) return NULL;
  if (!t)
    return dev_fail(host_of(p), OX_NOT_IMPLEMENTED, "the content of '%s' is not known before the run",
                    host_of(p)->value_name(p->part->graph, value));
  DEV_TRY(dev_take(p->part->ep, t->bytes, &at->copy));
  p->has_copies = true;
  return t->bytes ? dev_the_driver.copy(p->part->ep->device, NULL, at->copy, t->data, t->bytes, DEV_TO_DEVICE) : NULL;
}

/* Records that step p->n_steps, the next, uses |r|: resolves views, extends the lifetime, and brings constants and
 * contents to the device. */
static ox_status *touch(dev_plan *p, dev_ref *r) {
  void *address;
  if (r->kind == DEV_REF_NONE || r->kind == DEV_REF_MADE) return NULL;
  if (r->kind == DEV_REF_TEMP && r->id >= p->n_temps) return dev_no_memory(host_of(p));
  if (r->kind == DEV_REF_VALUE) *r = root_of(p, *r);
  dev_place *at = r->kind == DEV_REF_TEMP ? &p->temps[r->id] : &p->values[r->id];
  if (at->kind == DEV_PLACE_CONSTANT) DEV_TRY(dev_part_constant(p->part, r->id, &address));
  if (at->kind == DEV_PLACE_HOST) DEV_TRY(copy_content(p, r->id));
  at->first = OX_MIN(at->first, p->n_steps), at->last = p->n_steps;
  return NULL;
}

static ox_status *add_step(dev_plan *p, dev_step_kind kind, const dev_ref *buffers, uint32_t n, dev_step **out) {
  dev_step *s = *out = OX_ARENA_NEW(&p->zone, dev_step);
  if (!s) return dev_no_memory(host_of(p));
  s->kind = kind, s->node = p->node, s->n_buffers = n;
  for (uint32_t i = 0; i < n; i++) {
    s->buffers[i] = buffers[i];
    DEV_TRY(touch(p, &s->buffers[i]));
  }
  if (p->last)
    p->last->next = s;
  else
    p->steps = s;
  p->last = s, p->n_steps++;
  return NULL;
}

ox_status *dev_emit(dev_plan *p, const dev_call *c) {
  dev_step *s;
  dev_kernel *kernel;
  if (c->n_buffers > DEV_MAX_BUFFERS || c->params_bytes > DEV_MAX_PARAMS)
    return dev_fail(host_of(p), OX_LIMIT, "kernel %s: %u buffers, %zu bytes of parameters", c->kernel, c->n_buffers,
                    c->params_bytes);
  DEV_TRY(dev_kernel_find(&p->part->ep->modules, c->source, c->kernel, c->dtype == OX_F16, &kernel));
  DEV_TRY(add_step(p, DEV_STEP_LAUNCH, c->buffers, c->n_buffers, &s));
  s->launch = (dev_launch){.kernel = kernel, .items = c->items, .n_buffers = c->n_buffers};
  for (int i = 0; i < 3; i++) s->launch.groups[i] = OX_MAX(c->groups[i], 1u);
  s->launch.params = ox_arena_copy(&p->zone, c->params, c->params_bytes);
  s->launch.params_bytes = c->params_bytes;
  return s->launch.params ? NULL : dev_no_memory(host_of(p));
}

ox_status *dev_emit_copy(dev_plan *p, dev_ref to, dev_ref from, size_t bytes) {
  dev_step *s;
  if (!bytes) return NULL;
  DEV_TRY(add_step(p, DEV_STEP_COPY, (dev_ref[]){to, from}, 2, &s));
  s->copy_bytes = bytes;
  return NULL;
}

ox_status *dev_emit_view(dev_plan *p, uint32_t out, uint32_t in) {
  dev_place *to = &p->values[out];
  dev_ref root = dev_value(p, in);
  if (to->kind != DEV_PLACE_OUTPUT) {
    to->same = root.id, to->same_at = root.offset;
    return NULL;
  }
  if (dev_share(p, dev_value(p, out), root, to->bytes)) return NULL;
  return dev_emit_copy(p, dev_value(p, out), root, to->bytes);
}

/* Redirects all steps that use value |part| to |of|, of which |part| becomes a view. */
static void become_part(dev_plan *p, uint32_t part, dev_ref of) {
  dev_place *from = &p->values[part], *to = &p->values[of.id];
  for (dev_step *s = p->steps; s && from->first <= from->last; s = s->next)
    for (uint32_t i = 0; i < s->n_buffers; i++)
      if (s->buffers[i].kind == DEV_REF_VALUE && s->buffers[i].id == part)
        s->buffers[i].id = of.id, s->buffers[i].offset += of.offset;
  to->first = OX_MIN(to->first, from->first), to->last = OX_MAX(to->last, from->last);
  from->same = of.id, from->same_at = of.offset, from->first = UINT32_MAX, from->last = 0;
}

bool dev_share(dev_plan *p, dev_ref to, dev_ref from, size_t bytes) {
  enum { ALIGN = 256 }; /* of all values; libraries rely on it */
  if (to.kind != DEV_REF_VALUE || from.kind != DEV_REF_VALUE) return false;
  to = root_of(p, to), from = root_of(p, from);
  const dev_place *target = &p->values[to.id], *source = &p->values[from.id];
  if (to.id == from.id) return false;
  bool fresh = target->kind == DEV_PLACE_WORK && target->first == UINT32_MAX;
  bool written = source->kind == DEV_PLACE_WORK && source->first <= source->last;
  bool ours = target->kind == DEV_PLACE_WORK || target->kind == DEV_PLACE_OUTPUT;
  if (fresh && !to.offset && target->bytes == bytes && from.offset % ALIGN == 0)
    become_part(p, to.id, from);
  else if (written && ours && !from.offset && source->bytes == bytes && to.offset % ALIGN == 0)
    become_part(p, from.id, to);
  else
    return false;
  return true;
}

ox_status *dev_emit_gemm(dev_plan *p, const dev_gemm *g, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken) {
  dev_step *s;
  *out_taken = false;
  if (!p->part->ep->libraries || !dev_the_driver.gemm) return NULL;
  DEV_TRY(dev_the_driver.gemm_takes(p->part->ep->device, g, out_taken));
  if (!*out_taken) return NULL;
  DEV_TRY(add_step(p, DEV_STEP_GEMM, buffers, DEV_CALL_BUFFERS, &s));
  s->gemm = *g;
  return NULL;
}

ox_status *dev_emit_conv(dev_plan *p, const dev_conv *c, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken) {
  dev_step *s;
  *out_taken = false;
  if (!p->part->ep->libraries || !dev_the_driver.conv) return NULL;
  DEV_TRY(dev_the_driver.conv_takes(p->part->ep->device, c, out_taken));
  if (!*out_taken) return NULL;
  DEV_TRY(add_step(p, DEV_STEP_CONV, buffers, DEV_CALL_BUFFERS, &s));
  s->conv = *c;
  return NULL;
}

ox_status *dev_refuse(const dev_plan *p, const char *text) {
  return dev_fail(host_of(p), OX_INVALID_ARGUMENT, "%s", text);
}

/* ---- building ---- */

ox_status *dev_plan_note(const dev_plan *p, size_t node, ox_status *st) {
  const ox_ep_host *h = host_of(p);
  const dev_node n = {.host = h, .graph = p->part->graph, .index = node};
  const char *name = h->node_name(p->part->graph, node);
  char text[256];
  if (!st) return NULL;
  for (size_t i = 0; !*name && i < h->node_out_count(n.graph, node); i++) /* an unnamed node: its first output's name */
    if (dev_out(&n, i) != UINT32_MAX) name = h->value_name(n.graph, dev_out(&n, i));
  snprintf(text, sizeof text, "node '%.180s' (%s)", name, dev_node_op(&n));
  return h->status_note(st, text);
}

/* The node whose step first uses |at|. */
static size_t node_of(const dev_plan *p, const dev_place *at) {
  const dev_step *s = p->steps;
  for (uint32_t i = 0; s->next && i < at->first; i++) s = s->next;
  return s->node;
}

static bool is_larger(const dev_place *at, const dev_place *than) {
  return at->kind == DEV_PLACE_WORK && at->first <= at->last && (!than || at->bytes > than->bytes);
}

ox_status *dev_plan_note_largest(const dev_plan *p, ox_status *st) {
  const ox_ep_host *h = host_of(p);
  const dev_place *largest = NULL;
  const char *name = "a temporary";
  char text[320];
  for (uint32_t v = 0; v < p->part->n_values; v++)
    if (is_larger(&p->values[v], largest)) largest = &p->values[v], name = h->value_name(p->part->graph, v);
  for (size_t t = 0; t < p->n_temps; t++)
    if (is_larger(&p->temps[t], largest)) largest = &p->temps[t], name = "a temporary";
  if (!st || !largest) return st;
  snprintf(text, sizeof text, "the largest of its values is '%.200s' with %zu bytes", name, largest->bytes);
  return dev_plan_note(p, node_of(p, largest), h->status_note(st, text));
}

/* Computes the byte sizes of all values whose shapes are known. Element counts must fit int, as kernels index with it.
 */
static ox_status *size_values(dev_plan *p) {
  const ox_ep_host *h = host_of(p);
  for (uint32_t v = 0; v < p->part->n_values; v++) {
    const ox_tensor *constant = h->value_const(p->part->graph, v);
    const ox_shape *s = &p->shapes[v];
    p->values[v] = (dev_place){.kind = constant ? DEV_PLACE_CONSTANT : DEV_PLACE_WORK, .same = v, .first = UINT32_MAX};
    int64_t n = s->rank < 0 ? -1 : 1;
    for (int d = 0; d < s->rank; d++)
      if (s->dim[d] < 0 || !ox_mul_i64_ok(n, s->dim[d], &n)) n = s->dim[d] < 0 ? -1 : INT64_MAX;
    if (n < 0) continue; /* unused, or prepare_node refuses it */
    if (n > INT32_MAX)
      return dev_fail(h, OX_LIMIT, "'%s' has more than 2^31 - 1 elements, which the device's kernels do not count",
                      h->value_name(p->part->graph, v));
    if (!ox_dtype_bytes(dev_dtype(p, v), n, &p->values[v].bytes)) p->values[v].bytes = 0;
  }
  for (uint32_t i = 0; i < p->part->n_in; i++) {
    dev_place *at = &p->values[h->io_value(p->part->graph, 0, i)];
    at->kind = DEV_PLACE_INPUT, at->index = i;
  }
  for (uint32_t i = 0; i < p->part->n_out; i++) {
    dev_place *at = &p->values[h->io_value(p->part->graph, 1, i)];
    at->kind = DEV_PLACE_OUTPUT, at->index = i;
  }
  for (uint32_t v = 0; v < p->part->n_values; v++)
    if (p->part->lies[v] == DEV_WITH_HOST) p->values[v].kind = DEV_PLACE_HOST;
  return NULL;
}

/* Checks that all shapes of the node are known, as operators rely on that. */
static ox_status *check_shapes(const dev_plan *p, const dev_node *n) {
  size_t n_in = dev_in_count(n), n_out = n->host->node_out_count(n->graph, n->index);
  for (size_t i = 0; i < n_in + n_out; i++) {
    uint32_t v = i < n_in ? dev_in(n, i) : dev_out(n, i - n_in);
    const ox_shape *s = v == UINT32_MAX ? NULL : &p->shapes[v];
    if (!s) continue;
    bool known = s->rank >= 0;
    for (int d = 0; d < s->rank; d++) known &= s->dim[d] >= 0;
    if (!known)
      return dev_fail(n->host, OX_NOT_IMPLEMENTED, "the shape of '%s' is not known before the run",
                      n->host->value_name(n->graph, v));
  }
  return NULL;
}

static ox_status *emit_nodes(dev_plan *p) {
  const ox_ep_host *h = host_of(p);
  size_t n = h->node_count(p->part->graph);
  for (size_t i = 0; i < n; i++) {
    const dev_node node = {h, p->part->graph, i, p->part->lies, p->contents};
    uint32_t y = dev_out(&node, 0);
    const dev_op *op = dev_op_find(h->node_domain(node.graph, i), h->node_op(node.graph, i));
    p->node = i;
    if (p->taken[i] || (y != UINT32_MAX && p->part->lies[y] == DEV_WITH_HOST)) continue;
    ox_status *st = op ? check_shapes(p, &node) : dev_fail(h, OX_FAIL, "the device has no such operator");
    if (!st) st = op->emit(p, &node);
    DEV_TRY(dev_plan_note(p, i, st));
  }
  return NULL;
}

/* Copies the caller's contents into the plan. */
static ox_status *keep_contents(dev_plan *p, const ox_tensor *const *contents) {
  p->contents = OX_ARENA_ARRAY(&p->zone, const ox_tensor *, p->part->n_values);
  if (!p->contents) return dev_no_memory(host_of(p));
  for (size_t v = 0; v < p->part->n_values; v++) {
    if (p->part->lies[v] != DEV_WITH_HOST || !contents[v]) continue;
    ox_tensor *t = ox_arena_copy(&p->zone, contents[v], sizeof *t);
    if (t) t->data = ox_arena_copy(&p->zone, t->data, t->bytes);
    if (!t || !t->data) return dev_no_memory(host_of(p));
    p->contents[v] = t;
  }
  return NULL;
}

static ox_status *build(dev_plan *p, const ox_shape *shapes, const ox_tensor *const *contents) {
  size_t n = p->part->n_values;
  p->shapes = ox_arena_copy(&p->zone, shapes, n * sizeof *shapes);
  p->values = OX_ARENA_ARRAY(&p->zone, dev_place, n);
  p->taken = OX_ARENA_ARRAY(&p->zone, uint8_t, host_of(p)->node_count(p->part->graph));
  if (!p->shapes || !p->values || !p->taken) return dev_no_memory(host_of(p));
  DEV_TRY(keep_contents(p, contents));
  DEV_TRY(size_values(p));
  DEV_TRY(emit_nodes(p));
  return dev_lifetimes_assign(p);
}

ox_status *dev_plan_build(dev_part *part, const ox_shape *shapes, const ox_tensor *const *contents,
                          dev_plan **out_plan) {
  const ox_ep_host *h = &part->ep->host;
  dev_plan *p = ox_new_zeroed(h->alloc, sizeof *p);
  if (!p) return dev_no_memory(h);
  p->part = part;
  ox_arena_init(&p->zone, h->alloc);
  ox_status *st = build(p, shapes, contents);
  if (st)
    dev_plan_free(p);
  else
    *out_plan = p;
  return st;
}

void dev_plan_free(dev_plan *p) {
  if (!p) return;
  for (size_t v = 0; p->has_copies && v < p->part->n_values; v++)
    if (p->values[v].copy) dev_give(p->part->ep, p->values[v].copy, p->values[v].bytes);
  ox_arena_deinit(&p->zone);
  ox_delete(host_of(p)->alloc, p, sizeof *p);
}
