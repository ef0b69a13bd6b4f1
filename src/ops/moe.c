/* SPDX-License-Identifier: Apache-2.0
 * ops/moe.c - com.microsoft.MoE and QMoE: each token is processed by its k best experts (two or three linear layers
 * with float, or 2-, 4- or 8-bit weights); the result is their weighted sum. Tokens are sorted by expert, so that an
 * expert's weights are read once for all of its tokens. The steps are in moe/. */
#include "ops/moe/moe_plan.h"

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(ox_moe_attrs, k, 1, 1, OX_COUNT_MAX),
    OX_ATTR_INT(ox_moe_attrs, swiglu_fusion, 0),
    OX_ATTR_INT(ox_moe_attrs, normalize_routing_weights, 0),
    OX_ATTR_INT(ox_moe_attrs, use_sparse_mixer, 0),
    OX_ATTR_INT_IN(ox_moe_attrs, expert_weight_bits, 4, 2, 8),
    OX_ATTR_INT_IN(ox_moe_attrs, block_size, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT_IN(ox_moe_attrs, fc1_expert_weight_bits, 0, 0, 8),
    OX_ATTR_INT_IN(ox_moe_attrs, fc2_expert_weight_bits, 0, 0, 8),
    OX_ATTR_INT_IN(ox_moe_attrs, fc3_expert_weight_bits, 0, 0, 8),
    OX_ATTR_STR(ox_moe_attrs, activation_type, "relu"),
    OX_ATTR_STR(ox_moe_attrs, quant_type, "int"),
    OX_ATTR_FLOAT(ox_moe_attrs, activation_alpha, 1),
    OX_ATTR_FLOAT(ox_moe_attrs, activation_beta, 0),
    OX_ATTR_FLOAT_HAS(ox_moe_attrs, swiglu_limit, 0),
};

enum { N_IN_FLOAT = 8, N_IN_QUANT = 21, NONE = OX_DENSE_NO_INPUT };
enum { ROUTE, GATHER, FIRST, ACTIVATE, SECOND, COMBINE };

static const ox_dense_slots float_slots[OX_MOE_LAYERS] = {{2, NONE, 3, NONE}, {4, NONE, 5, NONE}, {6, NONE, 7, NONE}};
static const ox_dense_slots quant_slots[OX_MOE_LAYERS] = {{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}};
#define FLOAT_PACKS (1u << 2 | 1u << 4 | 1u << 6)
#define QUANT_PACKS (1u << 2 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9 | 7u << 11)

static ox_status *infer(ox_infer_ctx *c) { return ox_infer_same_as_input(c); }

/* ---- load ---- */
static ox_status *load_as(ox_load_ctx *c, const ox_dense_slots *slots) {
  const ox_moe_attrs *a = c->attrs;
  ox_dense_state *s = c->state = OX_LOAD_ARRAY(c, ox_dense_state, OX_MOE_LAYERS);
  if (!s) return ox_oom();
  for (int i = 0; i < OX_MOE_LAYERS; i++) {
    if (slots == quant_slots)
      ox_dense_load_codes(c, &slots[i], ox_moe_bits(a, i), a->block_size, &s[i]);
    else
      OX_TRY(ox_dense_load_floats(c, &slots[i], i, false, &s[i]));
  }
  return NULL;
}

static ox_status *load(ox_load_ctx *c) { return load_as(c, float_slots); }
static ox_status *load_quantized(ox_load_ctx *c) { return load_as(c, quant_slots); }

/* ---- prepare ---- */
/* Tiles of the first layers of one expert: fc1's, then fc3's. */
static int64_t first_groups(const ox_moe_plan *p) {
  return ox_dense_groups(&p->fc[OX_MOE_FC1]) + (p->has_fc3 ? ox_dense_groups(&p->fc[OX_MOE_FC3]) : 0);
}

static ox_status *prepare_as(ox_kernel_ctx *c, const ox_dense_slots *slots) {
  const ox_dense_state *s = c->state;
  ox_moe_plan *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t at = 0;
  if (!p) return ox_oom();
  OX_TRY(ox_moe_read(c, p, slots, slots == quant_slots));
  p->order = ox_moe_take_order(&at, p->rows, p->experts, p->busy);
  p->at_weight = ox_moe_take(&at, p->rows, sizeof(float));
  p->at_x = ox_moe_take(&at, p->rows * p->hidden, sizeof(float));
  p->at_h1 = ox_moe_take(&at, p->rows * p->fc[OX_MOE_FC1].n, sizeof(float));
  p->at_h3 = ox_moe_take(&at, p->has_fc3 ? p->rows * p->inter : 0, sizeof(float));
  p->at_act = ox_moe_take(&at, p->rows * p->inter, sizeof(float)),
  p->at_y = ox_moe_take(&at, p->rows * p->hidden, sizeof(float));
  c->shared_bytes = at, c->scratch_per_worker = ox_moe_route_scratch(p);
  for (int i = 0; i < (p->has_fc3 ? 3 : 2); i++) {
    size_t scratch;
    OX_TRY(ox_dense_plan(c, &p->fc[i], &s[i], i, p->tokens, &scratch));
    c->scratch_per_worker = OX_MAX(c->scratch_per_worker, scratch);
  }
  c->n_stages = COMBINE + 1;
  c->n_tiles[ROUTE] = 1, c->n_tiles[GATHER] = p->rows, c->n_tiles[ACTIVATE] = p->rows, c->n_tiles[COMBINE] = p->tokens;
  c->n_tiles[FIRST] = p->busy * first_groups(p);
  c->n_tiles[SECOND] = p->busy * ox_dense_groups(&p->fc[OX_MOE_FC2]);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) { return prepare_as(c, float_slots); }
static ox_status *prepare_quantized(ox_kernel_ctx *c) { return prepare_as(c, quant_slots); }

/* ---- run ---- */

/* Group |group| of layer |i| for the expert with rows that comes at |busy|, if there is one. */
static void run_group(const ox_kernel_ctx *c, int i, int64_t busy, int64_t group, void *scratch) {
  const ox_moe_plan *p = c->prep;
  const size_t from = i == OX_MOE_FC2 ? p->at_act : p->at_x;
  const size_t to = i == OX_MOE_FC1 ? p->at_h1 : i == OX_MOE_FC2 ? p->at_y : p->at_h3;
  ox_moe_run_group(c, &p->order, &p->fc[i], busy, group, from, to, scratch);
}

static void run_first(const ox_kernel_ctx *c, int64_t tile, void *scratch) {
  const ox_moe_plan *p = c->prep;
  int64_t own = ox_dense_groups(&p->fc[OX_MOE_FC1]), all = first_groups(p), group = tile % all;
  bool third = group >= own;
  run_group(c, third ? OX_MOE_FC3 : OX_MOE_FC1, tile / all, third ? group - own : group, scratch);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ox_moe_plan *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t per = OX_MAX(ox_dense_groups(&p->fc[OX_MOE_FC2]), 1);
    switch (stage) {
      case ROUTE:
        ox_moe_route(c, scratch);
        break;
      case GATHER:
        ox_moe_gather(c, t);
        break;
      case FIRST:
        run_first(c, t, scratch);
        break;
      case ACTIVATE:
        ox_moe_activate(c, t);
        break;
      case SECOND:
        run_group(c, OX_MOE_FC2, t / per, t % per, scratch);
        break;
      default:
        ox_moe_combine(c, t);
        break;
    }
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_moe_plan *p = c->prep;
  double sum = 0;
  for (int i = 0; i < OX_MOE_LAYERS; i++) sum += (double)p->fc[i].n * (double)p->fc[i].k;
  return 2 * (double)p->rows * sum;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define F32 OX_BIT(OX_F32)
#define WEIGHTS (OX_BIT(OX_U8) | OX_BIT(OX_F8E4M3FN))
#define SCALES (HALVES | OX_BIT(OX_F8E8M0) | OX_BIT(OX_F8E4M3FN))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MoE", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN_FLOAT,
               .types = {HALVES}, .vars = "TTTTTTTT", OX_ATTRS(attrs), .attrs_bytes = sizeof(ox_moe_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = FLOAT_PACKS)},
    {OX_SCHEMA(.name = "QMoE", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN_QUANT,
               .types = {HALVES, HALVES, WEIGHTS, SCALES, HALVES, WEIGHTS, SCALES, HALVES},
               .more_types = (const uint32_t[]){WEIGHTS, SCALES, HALVES, WEIGHTS, WEIGHTS, WEIGHTS, HALVES, F32, F32,
                                                F32, F32, SCALES, SCALES},
               .vars = "TTUVTUVTUVTUUUT....VV", OX_ATTRS(attrs), .attrs_bytes = sizeof(ox_moe_attrs), .infer = infer),
     OX_KERNEL(.load = load_quantized, .prepare = prepare_quantized, .run = run, .flops = flops,
               .packs_in = QUANT_PACKS)},
};
const ox_op_set ox_ops_moe = {ops, OX_COUNT(ops)};
