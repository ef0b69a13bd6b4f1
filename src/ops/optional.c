/* SPDX-License-Identifier: Apache-2.0
 * ops/optional.c - Optional, OptionalHasElement, OptionalGetElement. A full optional is its content. */
#include "base/macros.h"
#include "ops/move/sequence_values.h"

#define IGNORE_TILES (void)stage, (void)tiles, (void)scratch

static ox_status *optional_infer(ox_infer_ctx *c) {
  const ox_attr *type = c->node ? ox_node_attr(c->node, "type") : NULL;
  if (ox_infer_has(c, 0))
    c->out[0] = *c->in[0];
  else if (type && type->types)
    c->out[0] = type->types[0];
  else
    return ox_fail(OX_INVALID_MODEL, "Optional: neither an input nor a type");
  c->out[0].optional = true;
  return NULL;
}

static ox_status *optional_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  if (!ox_ctx_has(c, 0)) {
    *c->out[0] = (ox_tensor){.kind = OX_NONE_VALUE, .dtype = c->out[0]->dtype};
    return NULL;
  }
  ox_tensor *copy = ox_value_copy(c, c->in[0]);
  if (!copy) return ox_oom();
  *c->out[0] = *copy;
  return NULL;
}

static ox_status *has_infer(ox_infer_ctx *c) {
  ox_shape s = ox_shape_scalar();
  ox_infer_out(c, 0, OX_BOOL, &s);
  return NULL;
}

static ox_status *has_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  *(uint8_t *)c->out[0]->data = ox_ctx_has(c, 0) && c->in[0]->kind != OX_NONE_VALUE;
  return NULL;
}

static ox_status *get_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  c->out[0] = *c->in[0];
  c->out[0].optional = false;
  return NULL;
}

static ox_status *get_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  if (c->in[0]->kind == OX_NONE_VALUE) return ox_fail(OX_INVALID_ARGUMENT, "OptionalGetElement: the optional is empty");
  return ox_output_set_value(c, 0, c->in[0]);
}

static const ox_op_def defs[] = {
    {.name = "Optional",
     .since = 15,
     .min_in = 0,
     .max_in = 1,
     .traits = OX_ANY_KIND,
     .infer = optional_infer,
     .run = optional_run},
    {.name = "OptionalHasElement",
     .since = 15,
     .min_in = 0,
     .max_in = 1,
     .traits = OX_ANY_KIND,
     .infer = has_infer,
     .run = has_run},
    {.name = "OptionalGetElement",
     .since = 15,
     .min_in = 1,
     .max_in = 1,
     .traits = OX_ANY_KIND,
     .infer = get_infer,
     .run = get_run},
};
const ox_op_set ox_ops_optional = {defs, OX_COUNT(defs)};
