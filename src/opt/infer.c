/* SPDX-License-Identifier: Apache-2.0
 * opt/infer.c - types and shapes of a whole graph: operators infer in topological order, declarations are merged in,
 * bodies are visited with the types of their node's inputs, and small integer contents travel along (graph/known.h). */
#include <string.h>

#include "base/macros.h"
#include "graph/control.h"
#include "graph/known.h"
#include "graph/deferred_const.h"
#include "graph/trail.h"
#include "opt/opt.h"

/* One graph being inferred, inside those that enclose it. */
typedef struct scope {
  ox_graph *g;
  const ox_known **known; /* by value; NULL: nothing */
  struct scope *up;
} scope;

typedef struct work {
  const ox_opt_options *o;
  ox_arena keep, scratch; /* contents; one node's arrays */
  uint32_t *n_made;       /* constants that were made of what is known; NULL: none is to be made */
  uint16_t owner;         /* of |owner|'s nodes; OX_NO_OWNER: of all */
  bool lenient;           /* inside a branch that may never run: what does not fit is left unknown */
} work;

/* One node's view. */
typedef struct node_io {
  const ox_schema *schema; /* NULL: the operator is unknown */
  void *attrs;
  const ox_type **in;
  const ox_tensor **in_data;
  const ox_known **known;
  ox_type *out;
} node_io;

static ox_status *infer_graph(work *w, ox_graph *g, scope *up);

static const ox_shape *declared_shape(const void *graph, ox_id v) {
  return &((const ox_graph *)graph)->values[v].type.shape;
}

static ox_status *note(ox_status *st, const ox_graph *g, const ox_node *n) {
  if (!st) return NULL;
  st = ox_trail_add(st, g, (ox_id)(n - g->nodes), declared_shape, g);
  if (*n->name) return ox_status_note(st, "node '%s' (%s)", n->name, n->op);
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) return ox_status_note(st, "node of '%s' (%s)", g->values[n->out[i]].name, n->op);
  return ox_status_note(st, "node (%s)", n->op);
}

/* ---- merging ---- */

static bool type_unknown(const ox_type *t) { return t->kind == OX_TENSOR && !t->dtype && t->shape.rank < 0; }

/* Fills in unknown parts of |to| from the declaration |was|. False if they contradict each other. */
static bool merge_shape(ox_shape *to, const ox_shape *was, bool keep_names) {
  if (was->rank < 0) return true;
  if (to->rank < 0) {
    *to = *was;
    return true;
  }
  if (to->rank != was->rank) return false;
  for (int i = 0; i < to->rank; i++) {
    int64_t *d = &to->dim[i], e = was->dim[i];
    if (*d >= 0 && e >= 0 && *d != e) return false;
    if (*d == -1 || (*d < 0 && e >= 0) || (*d < 0 && e < -1 && keep_names)) *d = e;
  }
  return true;
}

/* The element type of a value inside the graph is what its operator says; of an output, what the caller was promised.
 */
static ox_status *other_dtype(const work *w, const ox_graph_value *v, const ox_type *got) {
  const char *a = ox_dtype_name(v->type.dtype), *b = ox_dtype_name(got->dtype);
  if (!w->o->lenient_shapes || v->is_output)
    return ox_fail(OX_INVALID_MODEL, "tensor '%s' is declared as %s, but its type is %s", v->name, a, b);
  if (w->o->log)
    ox_log_write(w->o->log, OX_LOG_WARNING, "tensor '%s' is declared as %s, but its type is %s", v->name, a, b);
  return NULL;
}

static ox_status *contradiction(const work *w, const ox_graph_value *v, const ox_type *got) {
  char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  ox_shape_text(&v->type.shape, a), ox_shape_text(&got->shape, b);
  if (!w->o->lenient_shapes)
    return ox_fail(OX_INVALID_MODEL, "tensor '%s' is declared as %s, but its shape is %s", v->name, a, b);
  if (w->o->log)
    ox_log_write(w->o->log, OX_LOG_WARNING, "tensor '%s' is declared as %s, but its shape is %s", v->name, a, b);
  return NULL;
}

/* Unknown dimensions become symbols, so that what is computed from the value can be known to have the same.
 * Not those in loops: what a body computes in one iteration may differ in the next. */
static ox_status *name_dims(ox_graph *g, ox_type *t) {
  if (g->loops || t->kind != OX_TENSOR) return NULL;
  for (int i = 0; i < t->shape.rank; i++)
    if (t->shape.dim[i] == -1) OX_TRY(ox_model_symbol_new(g->model, &t->shape.dim[i]));
  return NULL;
}

/* Gives the value what inference found; what was declared fills the gaps. */
static ox_status *settle(const work *w, ox_graph *g, ox_id id, ox_type t) {
  ox_graph_value *v = &g->values[id];
  if (type_unknown(&t)) return NULL;
  if (type_unknown(&v->type)) {
    v->type = t;
    return name_dims(g, &v->type);
  }
  if (v->type.kind != t.kind) {
    if (t.optional || v->type.optional) return NULL; /* a full optional is its content */
    return ox_fail(OX_INVALID_MODEL, "'%s' is declared as another kind of value than it is", v->name);
  }
  if (t.dtype && v->type.dtype && t.dtype != v->type.dtype) OX_TRY(other_dtype(w, v, &t));
  if (!t.dtype) t.dtype = v->type.dtype;
  if (!t.elem) t.elem = v->type.elem;
  if (v->is_output) t.optional = v->type.optional; /* as the caller was promised */
  if (!merge_shape(&t.shape, &v->type.shape, v->is_output)) OX_TRY(contradiction(w, v, &t));
  v->type = t;
  return name_dims(g, &v->type);
}

/* ---- one node ---- */

static const ox_known *known_of(work *w, scope *s, ox_id v) {
  while (s && s->g->values[v].outer != OX_NONE) {
    v = s->g->values[v].outer, s = s->up;
    if (!s) return NULL;
  }
  if (!s) return NULL;
  if (!s->known[v] && s->g->values[v].init && !s->g->values[v].is_input)
    s->known[v] = ox_known_of_tensor(&w->keep, s->g->values[v].init);
  return s->known[v];
}

static ox_status *gather_inputs(work *w, ox_graph *g, const ox_node *n, scope *s, node_io *io) {
  ox_arena_reset(&w->scratch);
  io->in = OX_ARENA_ARRAY(&w->scratch, const ox_type *, n->n_in);
  io->in_data = OX_ARENA_ARRAY(&w->scratch, const ox_tensor *, n->n_in);
  io->known = OX_ARENA_ARRAY(&w->scratch, const ox_known *, n->n_in);
  io->out = OX_ARENA_ARRAY(&w->scratch, ox_type, n->n_out);
  if (!io->in || !io->in_data || !io->known || !io->out) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    ox_id v = n->in[i];
    if (v == OX_NONE) continue;
    io->in[i] = &g->values[v].type;
    io->in_data[i] = ox_deferred_of(g, v) ? NULL : ox_graph_const(g, v); /* no shape depends on large weights */
    if (s) io->known[i] = known_of(w, s, v);
    if (!io->in_data[i] && io->known[i]) io->in_data[i] = ox_known_tensor(&w->scratch, io->known[i]);
  }
  for (uint32_t i = 0; i < n->n_out; i++) io->out[i] = ox_type_unknown();
  return NULL;
}

/* ---- bodies ---- */

/* Gives the inputs of a body the types that its operator says are certain. */
static ox_status *enter(work *w, const ox_control_def *def, const ox_node *n, uint32_t version, ox_graph *b,
                        const node_io *io) {
  if (!def || !def->enter) return NULL;
  ox_type *types = OX_ARENA_ARRAY(&w->scratch, ox_type, b->n_inputs);
  if (!types) return ox_oom();
  for (uint32_t i = 0; i < b->n_inputs; i++) types[i] = ox_type_unknown();
  def->enter(io->in, n->n_in, version, b->n_inputs, types);
  for (uint32_t i = 0; i < b->n_inputs; i++) OX_TRY(settle(w, b, b->inputs[i], types[i]));
  return NULL;
}

static ox_status *infer_bodies(work *w, const ox_node *n, scope *s) {
  bool lenient = w->lenient;
  uint32_t version;
  const ox_schema *schema = ox_node_schema(s->g->model, n, &version);
  const ox_control_def *def = schema ? schema->control : NULL;
  ox_graph *b;
  node_io io;
  for (uint32_t i = 0; (b = ox_node_body(n, i)); i++) {
    OX_TRY(gather_inputs(w, s->g, n, s, &io)); /* the body before it used the scratch arena */
    OX_TRY(enter(w, def, n, version, b, &io));
    bool branch = def && def->branches;
    b->loops = s->g->loops || !branch, w->lenient |= branch;
    ox_status *st = infer_graph(w, b, s);
    w->lenient = lenient;
    OX_TRY(st);
  }
  return NULL;
}

/* The operator's own inference. Counts and types of inputs are always checked, since rules rely on them. */
static ox_status *ask_op(work *w, ox_graph *g, const ox_node *n, node_io *io) {
  uint32_t version;
  io->schema = ox_node_schema(g->model, n, &version), io->attrs = NULL;
  if (!io->schema) return NULL;
  OX_TRY(ox_op_check(io->schema, n, io->in));
  OX_TRY(ox_attrs_decode(io->schema, n, &w->scratch, &io->attrs));
  ox_node_call call = {.model = g->model,
                       .schema = io->schema,
                       .node = n,
                       .version = version,
                       .attrs = io->attrs,
                       .in = io->in,
                       .in_data = io->in_data,
                       .out = io->out,
                       .arena = &g->model->arena};
  ox_status *st = ox_node_infer(&call);
  ((ox_node *)n)->refused = NULL;
  if (!st || !w->lenient || ox_status_code(st) == OX_OUT_OF_MEMORY) return st;
  const char *why = ox_status_message(st);
  ((ox_node *)n)->refused = ox_arena_str(&g->model->arena, why, strlen(why));
  ox_status_free(st);
  if (!n->refused) return ox_oom();
  for (uint32_t i = 0; i < n->n_out; i++) io->out[i] = ox_type_unknown();
  return NULL;
}

/* What follows from partly known contents: more of output 0's shape, and its own content. */
static const ox_known *ask_known(work *w, ox_model *model, const ox_node *n, node_io *io) {
  const ox_schema *s = io->schema;
  if (!s || !n->n_in || !n->n_out || !io->in[0]) return NULL;
  ox_known_ctx c = {&w->keep, n->op, io->attrs, n->n_in, io->in, io->known, model};
  if (s->refine && io->out[0].kind == OX_TENSOR) s->refine(&c, &io->out[0].shape);
  const ox_known *k = s->known ? s->known(&c) : NULL;
  if (k && type_unknown(&io->out[0])) {
    ox_shape shape = ox_known_shape(k);
    io->out[0] = ox_type_tensor(k->dtype, &shape);
  }
  return k;
}

static ox_status *infer_node(work *w, scope *s, ox_id id) {
  ox_graph *g = s->g;
  const ox_node *n = &g->nodes[id];
  node_io io;
  OX_TRY(ox_watch_check(g->model->watch));
  OX_TRY(infer_bodies(w, n, s));
  OX_TRY(gather_inputs(w, g, n, s, &io));
  OX_TRY(ask_op(w, g, n, &io));
  const ox_known *k = ask_known(w, g->model, n, &io);
  if (n->n_out && n->out[0] != OX_NONE) s->known[n->out[0]] = k;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE) OX_TRY(settle(w, g, n->out[i], io.out[i]));
  return NULL;
}

/* ---- graphs ---- */

/* Stand-ins take the type of what they stand for; constants their own. */
static void preset_types(ox_graph *g) {
  for (ox_id v = 0; v < g->n_values; v++) {
    ox_graph_value *value = &g->values[v];
    if (value->dead) continue;
    if (value->outer != OX_NONE) value->type = g->parent->values[value->outer].type;
    if (value->init && !value->is_input)
      value->type = (ox_type){.kind = value->init->kind, .dtype = value->init->dtype, .shape = value->init->shape};
  }
}

/* What could be computed without running anything becomes constant. */
static ox_status *make_consts(work *w, scope *s) {
  ox_graph *g = s->g;
  for (ox_id v = 0; v < g->n_values; v++) {
    if (!s->known[v] || g->values[v].producer == OX_NONE || g->values[v].dead || g->values[v].is_output) continue;
    if (w->owner && g->nodes[g->values[v].producer].assigned.owner != w->owner) continue;
    const ox_tensor *t = ox_known_tensor(&g->model->arena, s->known[v]);
    if (!t) continue;
    OX_TRY(ox_graph_make_const(g, v, t));
    ++*w->n_made;
  }
  return NULL;
}

static ox_status *infer_graph(work *w, ox_graph *g, scope *up) {
  ox_alloc a = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n;
  preset_types(g);
  OX_TRY(ox_graph_order(g, a, &order, &n));
  size_t known_bytes = g->n_values * sizeof(ox_known *), order_bytes = g->n_nodes * sizeof *order;
  scope s = {g, ox_new_zeroed(a, known_bytes), up};
  ox_status *st = s.known ? NULL : ox_oom();
  for (uint32_t i = 0; !st && i < n; i++) st = note(infer_node(w, &s, order[i]), g, &g->nodes[order[i]]);
  if (!st && w->n_made) st = make_consts(w, &s);
  ox_delete(a, order, order_bytes);
  ox_delete(a, (void *)s.known, known_bytes);
  return st;
}

static ox_status *infer_all(ox_graph *g, const ox_opt_options *o, uint16_t owner, uint32_t *n_made) {
  static const ox_opt_options none = {.level = OX_OPTIMIZE_NONE};
  work w = {.o = o ? o : &none, .owner = owner, .n_made = n_made};
  ox_arena_init(&w.keep, g->model->alloc);
  ox_arena_init(&w.scratch, g->model->alloc);
  ox_status *st = infer_graph(&w, g, NULL);
  ox_arena_deinit(&w.keep);
  ox_arena_deinit(&w.scratch);
  return st;
}

ox_status *ox_infer_graph(ox_graph *g, const ox_opt_options *o, bool make_consts_too) {
  uint32_t n = 0;
  return infer_all(g, o, OX_NO_OWNER, make_consts_too ? &n : NULL);
}

ox_status *ox_infer_consts(ox_graph *g, const ox_opt_options *o, uint16_t owner, uint32_t *n_made) {
  return infer_all(g, o, owner, n_made);
}

ox_status *ox_infer_node(ox_graph *g, ox_id node) {
  static const ox_opt_options none = {.lenient_shapes = true};
  work w = {.o = &none};
  const ox_node *n = &g->nodes[node];
  node_io io;
  ox_arena_init(&w.scratch, g->model->alloc);
  ox_status *st = gather_inputs(&w, g, n, NULL, &io);
  if (!st) st = ask_op(&w, g, n, &io);
  for (uint32_t i = 0; !st && i < n->n_out; i++)
    if (n->out[i] != OX_NONE) st = settle(&w, g, n->out[i], io.out[i]);
  ox_arena_deinit(&w.scratch);
  return note(st, g, n);
}
