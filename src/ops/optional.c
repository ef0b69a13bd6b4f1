/* SPDX-License-Identifier: Apache-2.0
 * ops/optional.c - Optional, OptionalHasElement, OptionalGetElement. An optional that is not empty is represented by
 * its content. */
#include "base/macros.h"
#include "ops/move/sequence_values.h"

#define IGNORE_TILES (void)stage, (void)tiles, (void)scratch

typedef struct {
  const ox_type *type;
} optional_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_TYPE(optional_attrs, type)};

static ox_status *optional_infer(ox_infer_ctx *c) {
  const optional_attrs *a = c->attrs;
  if (ox_infer_has(c, 0)) {
    c->out[0] = *c->in[0];
  } else if (a->type) {
    c->out[0] = *a->type;
    c->out[0].shape = ox_shape_unknown(); /* an empty optional needs no memory */
  } else {
    return ox_fail(OX_INVALID_MODEL, "Optional: neither an input nor a type");
  }
  c->out[0].optional = true;
  return NULL;
}

static ox_status *optional_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  if (!ox_ctx_has(c, 0)) {
    *c->out[0] = (ox_tensor){.kind = OX_NONE_VALUE, .dtype = c->out[0]->dtype};
    return NULL;
  }
  return ox_output_set_value(c, 0, c->in[0]);
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

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Optional", .since = 15, .min_in = 0, .max_in = 1, .traits = OX_ANY_KIND, OX_ATTRS(attr_defs),
               .attrs_bytes = sizeof(optional_attrs), .infer = optional_infer),
     OX_KERNEL(.run = optional_run)},
    {OX_SCHEMA(.name = "OptionalHasElement", .since = 15, .min_in = 0, .max_in = 1, .traits = OX_ANY_KIND,
               .infer = has_infer),
     OX_KERNEL(.run = has_run)},
    {OX_SCHEMA(.name = "OptionalGetElement", .since = 15, .min_in = 1, .max_in = 1, .traits = OX_ANY_KIND,
               .infer = get_infer),
     OX_KERNEL(.run = get_run)},
};
const ox_op_set ox_ops_optional = {ops, OX_COUNT(ops)};
