/* SPDX-License-Identifier: Apache-2.0
 * opt/rewriter.h - the host's side of onyx/rule.h: what is behind a rule's ox_rewrite. */
#ifndef OX_OPT_REWRITER_H
#define OX_OPT_REWRITER_H

#include "graph/deferred_const.h"
#include "onyx/rule.h"
#include "opt/match.h"
#include "opt/naming.h"
#include "opt/opt.h"
#include "opt/origin.h"

/* |rw| is what rules see. The driver sets |assigned| to the root's assignment: nodes of another one are
 * invisible. */
typedef struct ox_rewriter {
  ox_rewrite rw;
  const ox_opt_options *o;
  ox_assignment assigned;
  ox_arena scratch;
  bool scratch_used;
  bool tracks;       /* origins are kept: one rule is at work, not a pass */
  ox_status *failed; /* by a guard */
  ox_origin origin;
  ox_naming naming;
} ox_rewriter;

void ox_rewriter_init(ox_rewriter *h, ox_graph *g, const ox_opt_options *o); /* |o| NULL: the defaults */
void ox_rewriter_deinit(ox_rewriter *h);
/* Forgets what was in `scratch`. */
void ox_rewriter_clear_scratch(ox_rewriter *h);

static inline ox_rewriter *ox_rewriter_of(const ox_rewrite *rw) { return (ox_rewriter *)(void *)rw; }
/* The node, if it exists and the rule may see it; else NULL. */
static inline ox_node *ox_rewriter_node(const ox_rewrite *rw, ox_id node) {
  if (node >= rw->graph->n_nodes) return NULL;
  ox_node *n = &rw->graph->nodes[node];
  return !n->dead && ox_assigned_same(&n->assigned, &ox_rewriter_of(rw)->assigned) ? n : NULL;
}
static inline ox_graph_value *ox_rewriter_value(const ox_rewrite *rw, ox_id v) {
  return v < rw->graph->n_values && !rw->graph->values[v].dead ? &rw->graph->values[v] : NULL;
}

/* ---- the edits of the table (rewriter_edit.c), as onyx/rule.h says ---- */
ox_status *ox_rewriter_add_value(const ox_rewrite *rw, const char *hint, const ox_type *type, ox_id *out_value);
ox_status *ox_rewriter_add_tensor(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  ox_id *out_value);
ox_status *ox_rewriter_add_const(const ox_rewrite *rw, const char *hint, const ox_tensor *t, ox_id *out_value);
ox_status *ox_rewriter_const_room(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  void **out_data, ox_id *out_value);
ox_status *ox_rewriter_const_made(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                  const ox_tensor *from, void (*make)(const ox_tensor *from, const void *arg, void *to),
                                  const void *arg, size_t arg_bytes, ox_id *out_value);
ox_status *ox_rewriter_const_later(const ox_rewrite *rw, const char *hint, uint32_t dtype, const ox_shape *shape,
                                   const ox_tensor *from, ox_make_fn make, const void *arg, size_t arg_bytes,
                                   ox_id *out_value);
ox_status *ox_rewriter_const_view(const ox_rewrite *rw, const char *hint, const ox_tensor *t, ox_id *out_value);
ox_status *ox_rewriter_make_const(const ox_rewrite *rw, ox_id v, const ox_tensor *t);
ox_status *ox_rewriter_replace_uses(const ox_rewrite *rw, ox_id from, ox_id to);
int ox_rewriter_can_replace(const ox_rewrite *rw, ox_id from, ox_id to);
ox_status *ox_rewriter_add_node(const ox_rewrite *rw, const char *domain, const char *op, const char *name,
                                const ox_id *in, uint32_t n_in, const ox_id *out, uint32_t n_out, ox_id *out_node);
ox_status *ox_rewriter_set_in(const ox_rewrite *rw, ox_id node, uint32_t slot, ox_id v);
ox_status *ox_rewriter_set_out(const ox_rewrite *rw, ox_id node, uint32_t slot, ox_id v);
ox_status *ox_rewriter_set_counts(const ox_rewrite *rw, ox_id node, uint32_t n_in, uint32_t n_out);
ox_status *ox_rewriter_become(const ox_rewrite *rw, ox_id node, const char *domain, const char *op);
ox_status *ox_rewriter_set_attr(const ox_rewrite *rw, ox_id node, const char *name, const ox_attr_view *value);
ox_status *ox_rewriter_remove_attr(const ox_rewrite *rw, ox_id node, const char *name);
ox_status *ox_rewriter_infer(const ox_rewrite *rw, ox_id node);
ox_status *ox_rewriter_remove_node(const ox_rewrite *rw, ox_id node);
ox_status *ox_rewriter_remove_unused(const ox_rewrite *rw, ox_id node);

#endif
