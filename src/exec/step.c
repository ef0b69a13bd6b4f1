/* SPDX-License-Identifier: Apache-2.0
 * exec/step.c - see step.h. */
#include "exec/step.h"

#include <string.h>

#include "base/macros.h"
#include "base/random_key.h"
#include "exec/pack.h"
#include "graph/deferred_const.h"
#include "graph/op_def.h"
#include "graph/part_infer.h"

bool ox_tensor_shaped(const ox_tensor *t) { return t->kind == OX_TENSOR && ox_shape_known(&t->shape); }

bool ox_tensor_size(ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  return n >= 0 && ox_dtype_bytes(t->dtype, n, &t->bytes) && t->bytes <= SIZE_MAX / 8;
}

/* ---- services for kernels ---- */

static void *alloc_prep(ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(c->frame->step->prep, bytes); }

static void *alloc_output(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape) {
  return ox_step_output(c->frame->step, index, shape);
}

static void *alloc_run(const ox_kernel_ctx *c, size_t bytes) {
  ox_step *s = c->frame->step;
  return s->memory->run(s, bytes);
}

static void *extend_run(const ox_kernel_ctx *c, const void *p, size_t used, size_t more) {
  ox_step *s = c->frame->step;
  return s->memory->extend ? s->memory->extend(s, p, used, more) : ox_ctx_run_enlarge(c, p, used, more);
}

static void profile_event(const ox_kernel_ctx *c, const char *name, int64_t start_ns, int64_t duration_ns) {
  ox_step_event(c->frame->step, name, start_ns, duration_ns);
}

static ox_status *parallel_for(const ox_kernel_ctx *c, int64_t n, ox_tile_fn fn, void *ctx) {
  return ox_crew_run(c->frame->step->crew, n, fn, ctx);
}

static uint32_t max_workers(const ox_kernel_ctx *c) {
  const ox_step_crew *crew = c->frame->step->crew;
  return crew->pool ? crew->max_threads : 1;
}

static int stopped(const ox_kernel_ctx *c) {
  const ox_step_crew *crew = c->frame->step->crew;
  return crew && crew->watch && ox_watch_stopped(crew->watch);
}

static uint64_t random_key(const ox_kernel_ctx *c) {
  (void)c;
  return ox_random_fresh_key();
}

static ox_pack_site site_of(const ox_step *s) { return (ox_pack_site){s->graph, s->unit, s->node, s->crew}; }

static ox_status *pack(ox_kernel_ctx *c, const ox_pack *p, const void **out_data) {
  const ox_pack_site at = site_of(c->frame->step);
  return ox_pack_constants(&at, p, out_data);
}

static ox_status *pack_later(ox_kernel_ctx *c, const ox_pack *p, void **out_later) {
  const ox_pack_site at = site_of(c->frame->step);
  return ox_pack_reserve(&at, p, c->frame->step->prep, out_later);
}

static ox_status *pack_now(const ox_kernel_ctx *c, void *later, const void **out_data) {
  const ox_pack_site at = site_of(c->frame->step);
  return ox_pack_reserved(&at, later, out_data);
}

/* A step whose shapes only the run knows is prepared in each run: nothing is put off there. */
static ox_status *pack_for_runs(ox_kernel_ctx *c, const ox_pack *p, const void *const **out_place) {
  ox_step *s = c->frame->step;
  const ox_pack_site at = site_of(s);
  return ox_pack_for_runs(&at, p, s->prep, s->mode == OX_MODE_STATIC ? &s->late : NULL, out_place);
}

static void constant(const ox_kernel_ctx *c, uint32_t input, int64_t first, int64_t n, void *to) {
  const ox_step *s = c->frame->step;
  const ox_deferred *deferred = ox_deferred_of(s->graph, s->node->in[input]);
  const ox_tensor *t = ox_graph_const_type(s->graph, s->node->in[input]);
  size_t each = ox_dtype_bits(t->dtype) / 8;
  if (deferred)
    deferred->make(deferred->from, deferred->arg, first, n, to);
  else
    memcpy(to, (const char *)t->data + (size_t)first * each, (size_t)n * each);
}

static const void *constant_place(const ox_kernel_ctx *c, uint32_t input) {
  const ox_step *s = c->frame->step;
  bool deferred = ox_deferred_of(s->graph, s->node->in[input]) != NULL;
  return deferred ? NULL : ox_graph_const_type(s->graph, s->node->in[input])->data;
}

static const ox_ctx_host host = {sizeof host,       alloc_prep,   alloc_output, alloc_run, profile_event,
                                 ox_status_of_text, parallel_for, max_workers,  stopped,   extend_run,
                                 random_key,        pack,         pack,         constant,  constant_place,
                                 pack_later,        pack_now,     pack_for_runs};

void *ox_step_output(ox_step *s, uint32_t index, const ox_shape *shape) {
  ox_tensor *t = index < s->c.n_out ? s->c.out[index] : NULL;
  if (!t || !ox_shape_known(shape) || !ox_shape_fits(shape)) return NULL;
  bool same = ox_shape_equal(&t->shape, shape);
  if (t->data && same) return t->data; /* the shape was known after all */
  if (t->data || (s->mode == OX_MODE_STATIC && !same)) return NULL;
  ox_tensor made = *t;
  made.kind = OX_TENSOR, made.shape = *shape;
  if (!ox_tensor_size(&made)) return NULL;
  made.data = s->memory->output(s, index, &made);
  if (made.data) *t = made;
  return made.data;
}

void ox_step_event(ox_step *s, const char *name, int64_t start_ns, int64_t duration_ns) {
  ox_profile *p = s->crew ? s->crew->profile : NULL;
  ox_profile_event e = {.name = name ? name : "",
                        .op = s->node->op,
                        .provider = ox_unit_owner(s->unit),
                        .start_ns = start_ns,
                        .duration_ns = duration_ns};
  if (p) ox_profile_add_copy(p, &e);
}

/* ---- life ---- */

ox_status *ox_step_init(ox_step *s, const ox_graph *g, const ox_unit *u, const ox_tensor **in, ox_tensor **out,
                        ox_arena *a) {
  const ox_node *n = ox_graph_node(g, u->node);
  *s = (ox_step){.graph = g, .unit = u, .node = n};
  ox_arena_init(&s->own, a->alloc);
  s->prep = &s->own;
  ox_arena_init(&s->infer, a->alloc);
  s->types = OX_ARENA_ARRAY(a, const ox_type *, n->n_in);
  s->data = OX_ARENA_ARRAY(a, const ox_tensor *, n->n_in);
  s->type_values = OX_ARENA_ARRAY(a, ox_type, (size_t)n->n_in + n->n_out);
  s->made = OX_ARENA_ARRAY(a, const ox_tensor *, n->n_out);
  if (!in || !out || !s->types || !s->data || !s->type_values || !s->made) return ox_oom();
  s->frame = (ox_frame){s};
  s->c = (ox_kernel_ctx){.struct_size = sizeof s->c,
                         .n_in = n->n_in,
                         .n_out = n->n_out,
                         .in = in,
                         .out = out,
                         .op_version = u->op_version,
                         .frame = &s->frame,
                         .host = &host,
                         .constant_bytes = u->plan ? u->plan->constant_bytes : 0};
  return NULL;
}

void ox_step_deinit(ox_step *s) {
  ox_arena_deinit(&s->own);
  ox_arena_deinit(&s->infer);
}

/* ---- inference ---- */

/* Kernels were made for the types that the model declares, and run on no others. */
static ox_status *check_declared(const ox_step *s) {
  for (uint32_t i = 0; i < s->c.n_in; i++) {
    const ox_tensor *t = s->c.in[i];
    if (!t || t->kind != OX_TENSOR) continue;
    const ox_graph_value *v = &s->graph->values[s->node->in[i]];
    if (v->type.kind == OX_TENSOR && v->type.dtype && v->type.dtype != t->dtype)
      return ox_fail(OX_INVALID_MODEL, "input %u ('%s') is declared as %s, but is %s", i, v->name,
                     ox_dtype_name(v->type.dtype), ox_dtype_name(t->dtype));
  }
  return NULL;
}

ox_status *ox_step_check_outputs(const ox_step *s) {
  for (uint32_t i = 0; i < s->c.n_out; i++) {
    const ox_tensor *t = s->c.out[i];
    const ox_type *type = &s->type_values[s->c.n_in + i];
    if (t && t->kind == OX_TENSOR && type->kind == OX_TENSOR && type->dtype && t->dtype != type->dtype)
      return ox_fail(OX_INVALID_MODEL, "output %u should be %s, but is %s", i, ox_dtype_name(type->dtype),
                     ox_dtype_name(t->dtype));
  }
  return NULL;
}

/* The type of input |i| as inference sees it: what the graph knows (kinds of elements) under what the tensor is. */
static void type_of_input(const ox_step *s, uint32_t i, ox_type *out) {
  const ox_tensor *t = s->c.in[i];
  *out = s->graph->values[s->node->in[i]].type;
  if (t->kind != OX_NONE_VALUE) out->kind = t->kind;
  out->optional = t->kind == OX_NONE_VALUE;
  if (t->dtype) out->dtype = t->dtype;
  out->shape = t->shape;
}

/* What the host can read of input |i|: a kernel may see a constant that is packed, or that lies on a device. NULL: it
 * was packed before it was ever computed. */
static const ox_tensor *content_of(const ox_step *s, uint32_t i) {
  bool fixed = s->unit->fixed && s->unit->fixed[i];
  if (!fixed) return s->c.in[i];
  return ox_deferred_of(s->graph, s->node->in[i]) ? NULL : ox_graph_const(s->graph, s->node->in[i]);
}

static ox_status *ask(ox_step *s, ox_type *out, ox_arena *a) {
  const ox_unit *u = s->unit;
  if (u->kind == OX_UNIT_PROGRAM) return ox_part_infer(u->part->graph, s->types, s->data, out, s->made, a);
  if (u->kind == OX_UNIT_COPY) {
    out[0] = *s->types[0];
    return NULL;
  }
  ox_node_call call = {.model = s->graph->model,
                       .schema = u->def,
                       .node = s->node,
                       .version = u->op_version,
                       .attrs = u->attrs,
                       .in = s->types,
                       .in_data = s->data,
                       .out = out,
                       .arena = a};
  return u->def ? ox_node_infer(&call) : NULL;
}

static ox_status *set_output(ox_step *s, uint32_t i, const ox_type *type) {
  ox_tensor *t = s->c.out[i];
  const ox_type *declared = &s->graph->values[s->node->out[i]].type;
  t->kind = type->kind, t->shape = type->shape;
  t->dtype = type->dtype ? type->dtype : declared->dtype;
  if (type->kind == OX_TENSOR && type->dtype == OX_UNDEFINED && declared->kind != OX_TENSOR) t->kind = declared->kind;
  t->data = NULL, t->bytes = 0;
  for (int k = 0; k < t->shape.rank; k++) t->shape.dim[k] = OX_MAX(t->shape.dim[k], -1);
  if (!ox_tensor_shaped(t) || ox_tensor_size(t)) return NULL;
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_LIMIT, "output %u of type %s%s is too large or of unknown type", i, ox_dtype_name(t->dtype),
                 ox_shape_text(&t->shape, text));
}

ox_status *ox_step_infer(ox_step *s, const bool *content, ox_arena *a) {
  uint32_t n_in = s->c.n_in, n_out = s->c.n_out;
  ox_type *out = s->type_values + n_in;
  if (s->unit->kind == OX_UNIT_REFUSED) return ox_fail(OX_INVALID_MODEL, "%s", s->node->refused);
  for (uint32_t i = 0; i < n_in; i++) {
    s->types[i] = NULL, s->data[i] = NULL;
    if (!s->c.in[i]) continue;
    type_of_input(s, i, &s->type_values[i]);
    s->types[i] = &s->type_values[i];
    if (content[i] && s->c.in[i]->kind != OX_NONE_VALUE) s->data[i] = content_of(s, i);
  }
  if (s->unit->def) { /* what comes from a run or an enclosing graph may be other than the model says */
    OX_TRY(check_declared(s));
    OX_TRY(ox_op_check(s->unit->def, s->node, s->types));
  }
  for (uint32_t i = 0; i < n_out; i++) out[i] = ox_type_unknown();
  OX_TRY(ask(s, out, a));
  for (uint32_t i = 0; i < n_out; i++)
    if (s->c.out[i]) OX_TRY(set_output(s, i, &out[i]));
  return NULL;
}

/* ---- running ---- */

ox_status *ox_step_find_memory(ox_step *s) {
  for (uint32_t i = 0; i < s->c.n_out; i++) {
    ox_tensor *t = s->c.out[i];
    if (!t || t->data || !ox_tensor_shaped(t) || !t->dtype) continue;
    t->data = s->memory->output(s, i, t);
    if (!t->data)
      return ox_fail(OX_OUT_OF_MEMORY, "no memory for the %zu bytes of output %u ('%s')", t->bytes, i,
                     s->graph->values[s->node->out[i]].name);
  }
  return NULL;
}

static ox_status *check_prepared(const ox_kernel_ctx *c) {
  if (c->n_stages > OX_MAX_STAGES)
    return ox_fail(OX_INCOMPATIBLE, "the kernel wants %u stages, the most is %d", c->n_stages, OX_MAX_STAGES);
  for (uint32_t i = 0; i < c->n_stages; i++)
    if (c->n_tiles[i] < 0)
      return ox_fail(OX_INCOMPATIBLE, "the kernel wants %lld tiles in stage %u", (long long)c->n_tiles[i], i);
  if (c->scratch_per_worker > SIZE_MAX / 8 || c->shared_bytes > SIZE_MAX / 8)
    return ox_fail(OX_LIMIT, "the kernel wants %zu bytes of scratch for each worker, %zu shared ones",
                   c->scratch_per_worker, c->shared_bytes);
  return NULL;
}

/* Random numbers are drawn from a state that must go on. */
static bool makes_nothing(const ox_step *s) {
  uint32_t n = 0;
  if (!s->unit->def || (s->unit->def->traits & OX_NONDETERMINISTIC)) return false;
  for (uint32_t i = 0; i < s->c.n_out; i++) {
    const ox_tensor *t = s->c.out[i];
    if (t && (!ox_tensor_shaped(t) || ox_shape_count(&t->shape))) return false;
    n += t != NULL;
  }
  for (uint32_t i = 0; i < s->c.n_in; i++) {
    const ox_tensor *t = s->c.in[i];
    if (t && t->kind != OX_TENSOR) return false;
    if (t && !(OX_BIT(t->dtype) & OX_T_FLOAT) && ox_shape_count(&t->shape)) return false;
  }
  return n;
}

ox_status *ox_step_prepare(ox_step *s) {
  if (s->prep == &s->own) ox_arena_reset(s->prep);
  s->c.n_stages = 1, s->c.n_tiles[0] = 1;
  s->c.scratch_per_worker = s->c.shared_bytes = 0;
  s->c.attrs = NULL, s->c.state = NULL, s->c.prep = NULL, s->c.shared = NULL;
  s->c.form = NULL, s->c.tune = NULL, s->c.in_a_row = 0;
  s->late = NULL;
  if (s->unit->kind != OX_UNIT_KERNEL) return NULL;
  OX_TRY(s->unit->kernel->api->prepare(s->unit->kernel, &s->c));
  OX_TRY(check_prepared(&s->c));
  s->c.scratch_per_worker = OX_MAX(s->c.scratch_per_worker, ox_late_scratch(s->late));
  if (makes_nothing(s)) s->late = NULL, s->c.n_stages = 0, s->c.scratch_per_worker = s->c.shared_bytes = 0;
  return NULL;
}

size_t ox_step_rounded(size_t bytes) { return bytes ? OX_ROUND_UP(bytes + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES) : 0; }

size_t ox_step_area(const ox_step *s) {
  return ox_step_rounded(s->c.shared_bytes) + ox_step_rounded(s->c.scratch_per_worker);
}

double ox_step_flops(const ox_step *s) {
  const ox_kernel *k = s->unit->kernel;
  if (!k || (s->mode != OX_MODE_STATIC && s->mode != OX_MODE_DYNAMIC)) return 0;
  bool has = k->api->struct_size >= offsetof(ox_kernel_api, flops) + sizeof k->api->flops && k->api->flops;
  return has ? k->api->flops(k, &s->c) : 0;
}
