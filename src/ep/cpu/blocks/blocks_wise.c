/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_wise.c - element-wise operators run on blocks as they are. Operands that broadcast are in blocks
 * where they have the channels (gates, constants per channel), and get a last axis of length 1 where they have none. */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

/* How an operand of a result of rank |rank| with |channels| goes into blocks. */
typedef enum lift {
  CANNOT,
  AS_IT_IS, /* one element */
  TURN,     /* it has the channels: to be in blocks */
  LIFT,     /* the same, a constant that lacks the axis of images */
  SPREAD    /* one value for all channels: a last axis follows */
} lift;

static lift lift_of(const ox_rewrite *g, ox_id v, int rank, int64_t channels) {
  const ox_shape *s = ox_shape_at(g, v);
  int at = 1 - (rank - s->rank); /* of the channels */
  if (s->rank < 0 || s->rank > rank) return CANNOT;
  if (ox_elements(s) == 1) return AS_IT_IS;
  if (at < 0 || s->dim[at] == 1) return SPREAD;
  if (s->dim[at] != channels || ox_dtype_of(g, v) != OX_F32) return CANNOT;
  return at == 1 ? TURN : ox_const_type(g, v) ? LIFT : CANNOT;
}

static bool wise_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id y = ox_out(g, node, 0);
  int64_t channels = ox_blocks_channels(g, y);
  int rank = ox_shape_at(g, y)->rank;
  bool turned = false;
  if (!channels || ox_n_out(g, node) != 1) return false;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    ox_id v = ox_in(g, node, i);
    lift l = v == OX_NONE ? AS_IT_IS : lift_of(g, v, rank, channels);
    if (l == CANNOT) return false;
    if (l != TURN) continue;
    u->in |= (uint64_t)1 << i, turned |= !ox_const_type(g, v);
    u->gain -= (float)ox_blocks_waste(g, v) / 2;
  }
  u->out = 1, u->gain -= (float)ox_blocks_waste(g, y) / 2;
  return turned;
}

static ox_status *wise_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  ox_id y = ox_out(g, node, 0);
  int rank = ox_shape_at(g, y)->rank;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    ox_id v = ox_in(g, node, i);
    if ((u->in >> i & 1) || v == OX_NONE) continue;
    lift l = lift_of(g, v, rank, ox_shape_at(g, y)->dim[1]);
    if (l == LIFT) {
      OX_TRY(ox_blocks_unsqueeze(g, v, 0, &v));
      OX_TRY(ox_blocks_to(g, v, &v));
    } else if (l == SPREAD) {
      OX_TRY(ox_blocks_unsqueeze(g, v, ox_shape_at(g, v)->rank, &v));
    }
    OX_TRY(ox_set_in(g, node, i, v));
  }
  return NULL;
}

/* A convolution in blocks takes it in (rule block-prelu), one of planes does not. */
static bool prelu_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id conv = ox_producer(g, ox_in(g, node, 0));
  if (!wise_can(g, node, u)) return false;
  if (conv != OX_NONE && (ox_is(g, conv, "Conv") || ox_is_of(g, conv, "FusedConv", "com.microsoft")))
    u->gain += (float)(OX_BLOCKS_NS * ox_blocks_elements(g, ox_out(g, node, 0), false));
  return true;
}

/* Operators with parameters of one number beside X. */
static bool unary_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  if (!ox_blocks_channels(g, y) || !ox_blocks_channels(g, x) || ox_n_out(g, node) != 1) return false;
  for (uint32_t i = 1; i < ox_n_in(g, node); i++)
    if (ox_in(g, node, i) != OX_NONE && ox_elements(ox_shape_at(g, ox_in(g, node, i))) != 1) return false;
  u->in = u->out = 1, u->gain = (float)-ox_blocks_waste(g, y);
  return true;
}

/* What reads its second operand as something else than an element of the same place. */
static bool alone_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  return ox_n_in(g, node) == 1 && unary_can(g, node, u);
}

const ox_blocks_op ox_blocks_wise_ops[] = {
    {.ops = "Add|Sub|Mul|Div|Pow|Max|Min|Sum|Mean|Mod|Where", .can = wise_can, .edit = wise_edit},
    {.ops = "PRelu", .can = prelu_can, .edit = wise_edit},
    {.ops = "Relu|LeakyRelu|ThresholdedRelu|Elu|Selu|Celu|Sigmoid|HardSigmoid|HardSwish|Tanh|Softsign|Softplus|Mish|"
            "Gelu|Swish|Clip|Shrink|Abs|Neg|Sign|Ceil|Floor|Round|Reciprocal|Sqrt|Exp|Log|Erf|Sin|Cos|Tan|Sinh|Cosh|"
            "Asin|Acos|Atan|Asinh|Acosh|Atanh|Identity",
     .can = unary_can},
    {.ops = "Gelu|FastGelu|QuickGelu", .domain = "com.microsoft", .can = alone_can},
    {.ops = NULL},
};
