/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/widen_half.c - a model of float16 is computed in float32: no CPU here has the arithmetic, and kernels,
 * fusions and layouts are best for float32. One pass walks the graph: a node gets float32 in the place of float16, and
 * a Cast where the value that the model knows is still read. Between such nodes nothing is rounded. Casts of the
 * model itself stay, as rounding was asked for there. */
#include "base/status.h"
#include "ep/cpu/linear.h"
#include "kern/quant/convert.h"
#include "onyx/rewrite.h"

/* These take any type as it is. */
static const char moves[] =
    "Concat|DepthToSpace|Expand|Flatten|Gather|GatherElements|GatherND|Identity|Pad|Reshape|ScatterElements|ScatterND|"
    "Slice|SpaceToDepth|Split|Squeeze|Tile|Transpose|Unsqueeze|Where";
/* Float16 is in what these say, not in what they compute; or they hold sequences. */
static const char others[] =
    "BitCast|Cast|CastLike|Constant|ConstantOfShape|EyeLike|RandomNormalLike|RandomUniformLike|Bernoulli|"
    "ConcatFromSequence|"
    "SequenceAt|SequenceConstruct|SequenceEmpty|SequenceErase|SequenceInsert|SplitToSequence|Optional|"
    "OptionalGetElement|"
    "OptionalHasElement";
/* Their caches are inputs and outputs of the model; or they read a few rows of tables; or some of what they take is of
 * float16 and nothing else. */
static const char fixed[] =
    "EmbedLayerNormalization|GroupQueryAttention|SparseAttention|PagedAttention|DecoderMaskedMultiHeadAttention|"
    "DecoderMaskedSelfAttention|GemmaRotaryEmbedding";

typedef struct work {
  const ox_rewrite *g;
  ox_id *wide;  /* by value: what holds the same in float32, or OX_NONE */
  ox_id *casts; /* that were made */
  uint32_t n_values, n_casts;
} work;

static int half(const ox_rewrite *g, ox_id v) { return v != OX_NONE && ox_dtype_of(g, v) == OX_F16; }

static ox_id wide_of(const work *w, ox_id v) { return v < w->n_values ? w->wide[v] : OX_NONE; }

/* A move is not worth a Cast of what comes in, tables and caches above all. */
static int moves_half(const work *w, ox_id node) {
  int any = 0;
  if (!ox_is(w->g, node, moves)) return 0;
  for (uint32_t i = 0; i < ox_n_in(w->g, node); i++) {
    ox_id v = ox_in(w->g, node, i);
    if (!half(w->g, v)) continue;
    if (wide_of(w, v) != OX_NONE)
      any = 1;
    else if (!ox_const_type(w->g, v))
      return 1;
  }
  return !any;
}

/* Products of ai.onyx.Linear widen constant weights in registers: memory keeps, and a step of a decoder reads, two
 * bytes of each. */
static int keeps_weights(const ox_rewrite *g, ox_id node) {
  const ox_tensor *b = ox_n_in(g, node) > 1 ? ox_const_type(g, ox_in(g, node, 1)) : NULL;
  if (!b || b->dtype != OX_F16 || b->shape.rank < 2) return 0;
  if (ox_is_of(g, node, "Linear", "ai.onyx")) return 1;
  return ox_is(g, node, "MatMul|Gemm") && ox_linear_can(g, node);
}

static int widens(const work *w, ox_id node) {
  const ox_rewrite *g = w->g;
  int any = 0, keeps = keeps_weights(g, node);
  if (g->api->node_body_count(g, node) || ox_is(g, node, others) || ox_is_of(g, node, fixed, "com.microsoft")) return 0;
  if (ox_attr_of(g, node, "dtype") || ox_attr_of(g, node, "output_dtype")) return 0;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++)
    if (!keeps || i != 1) any |= half(g, ox_in(g, node, i));
  return any && !moves_half(w, node) && ox_op_serves(g, ox_domain_of(g, node), ox_op_of(g, node), OX_F32);
}

static void make_wide(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to) {
  (void)arg;
  ox_convert_select(ox_isa_allowed())->load_f32[OX_F16](from->data, (size_t)first, (size_t)n, to);
}

static ox_status *cast(work *w, ox_id from, ox_id to, uint32_t dtype) {
  ox_id *node = &w->casts[w->n_casts++];
  OX_TRY(w->g->api->add_node(w->g, NULL, "Cast", "", &from, 1, &to, 1, node));
  return ox_set_int(w->g, *node, "to", dtype);
}

/* The float32 of input |v|. */
static ox_status *widen(work *w, ox_id v, ox_id *out) {
  const ox_rewrite *g = w->g;
  *out = wide_of(w, v);
  if (*out != OX_NONE) return NULL;
  const ox_tensor *t = ox_const(g, v);
  ox_shape shape = *ox_shape_at(g, v);
  if (t)
    OX_TRY(g->api->const_later(g, g->api->value_name(g, v), OX_F32, &t->shape, t, make_wide, NULL, 0, out));
  else
    OX_TRY(g->api->add_tensor(g, NULL, OX_F32, &shape, out));
  if (!t) OX_TRY(cast(w, v, *out, OX_F32));
  w->wide[v] = *out;
  return NULL;
}

static ox_status *edit(work *w, ox_id node) {
  const ox_rewrite *g = w->g;
  const int keeps = keeps_weights(g, node);
  if (keeps) OX_TRY(ox_linear_become(g, node));
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    ox_id v = ox_in(g, node, i), wide;
    if (!half(g, v) || (keeps && i == 1)) continue;
    OX_TRY(widen(w, v, &wide));
    OX_TRY(ox_set_in(g, node, i, wide));
  }
  for (uint32_t i = 0; i < ox_n_out(g, node); i++) {
    ox_id v = ox_out(g, node, i), wide;
    if (!half(g, v)) continue;
    ox_shape shape = *ox_shape_at(g, v);
    OX_TRY(g->api->add_tensor(g, NULL, OX_F32, &shape, &wide));
    OX_TRY(g->api->set_out(g, node, i, wide));
    OX_TRY(cast(w, wide, v, OX_F16));
    w->wide[v] = wide;
  }
  return NULL;
}

/* The model's Casts of what is there in float32 read that. */
static ox_status *edit_cast(const work *w, ox_id node) {
  ox_id wide = wide_of(w, ox_in(w->g, node, 0));
  return wide == OX_NONE ? NULL : ox_set_in(w->g, node, 0, wide);
}

static ox_status *begin(work *w, const ox_id *order, uint32_t n) {
  size_t edges = 0;
  for (uint32_t i = 0; i < n; i++) edges += ox_n_in(w->g, order[i]) + ox_n_out(w->g, order[i]);
  w->n_values = w->g->api->value_count(w->g);
  w->wide = w->g->api->scratch(w->g, w->n_values * sizeof *w->wide + 1);
  w->casts = w->g->api->scratch(w->g, edges * sizeof *w->casts + 1);
  if (!w->wide || !w->casts) return ox_no_memory(w->g);
  for (uint32_t i = 0; i < w->n_values; i++) w->wide[i] = OX_NONE;
  return NULL;
}

static ox_status *run(const ox_rewrite *g, uint32_t *out_changes) {
  const ox_id *order;
  uint32_t n;
  work w = {.g = g};
  *out_changes = 0;
  if (g->api->struct_size < offsetof(ox_graph_api, const_later) + sizeof g->api->const_later) return NULL;
  OX_TRY(g->api->order(g, &order, &n));
  OX_TRY(begin(&w, order, n));
  for (uint32_t i = 0; i < n; i++) {
    if (ox_is(g, order[i], "Cast"))
      OX_TRY(edit_cast(&w, order[i]));
    else if (widens(&w, order[i])) {
      OX_TRY(edit(&w, order[i]));
      ++*out_changes;
    }
  }
  for (uint32_t i = w.n_casts; i-- > 0;) OX_TRY(ox_remove_unused(g, w.casts[i]));
  return NULL;
}

static const ox_pass passes[] = {
    {.struct_size = sizeof(ox_pass), .level = OX_OPTIMIZE_ALL, .name = "widen-half", .run = run}};
const ox_rule_set ox_cpu_rules_widen_half = {.struct_size = sizeof(ox_rule_set),
                                             .place = OX_RULES_OWNED,
                                             .owner = "cpu",
                                             .passes = passes,
                                             .n_passes = OX_COUNT(passes)};
