/* SPDX-License-Identifier: Apache-2.0
 * device/ops/trigonometry.c - element-wise operators of one operand that cannot be steps of a tail. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/trigonometry_params.h"

static const struct {
  const char *name, *a, *b; /* attributes */
  int op;
  float a0, b0; /* their defaults */
} rows[] = {{"Acos", 0, 0, TRIGONOMETRY_ACOS, 0, 0},
            {"Acosh", 0, 0, TRIGONOMETRY_ACOSH, 0, 0},
            {"Asin", 0, 0, TRIGONOMETRY_ASIN, 0, 0},
            {"Asinh", 0, 0, TRIGONOMETRY_ASINH, 0, 0},
            {"Atan", 0, 0, TRIGONOMETRY_ATAN, 0, 0},
            {"Atanh", 0, 0, TRIGONOMETRY_ATANH, 0, 0},
            {"Cosh", 0, 0, TRIGONOMETRY_COSH, 0, 0},
            {"Sinh", 0, 0, TRIGONOMETRY_SINH, 0, 0},
            {"Tan", 0, 0, TRIGONOMETRY_TAN, 0, 0},
            {"Shrink", "lambd", "bias", TRIGONOMETRY_SHRINK, 0.5f, 0},
            {"ScaledTanh", "alpha", "beta", TRIGONOMETRY_SCALED_TANH, 1, 1},
            {"Affine", "alpha", "beta", TRIGONOMETRY_AFFINE, 1, 0}};

static size_t row_of(const dev_node *n) {
  size_t i = 0;
  while (strcmp(rows[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

static const char *takes(const dev_node *n) { return dev_takes_real(n, 0, OX_MAX_RANK); }

static ox_status *emit(dev_plan *p, const dev_node *n) {
  size_t row = row_of(n);
  trigonometry_params q = {.n = (int)dev_count(p, dev_out(n, 0)), .op = rows[row].op};
  if (rows[row].a) q.a = dev_attr_float(n, rows[row].a, rows[row].a0);
  if (rows[row].b) q.b = dev_attr_float(n, rows[row].b, rows[row].b0);
  dev_call c = {.source = "trigonometry",
                .kernel = "trigonometry",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"Acos", "Acosh", "Asin",   "Asinh",      "Atan",   "Atanh", "Cosh",
                                    "Sinh", "Tan",   "Shrink", "ScaledTanh", "Affine", NULL};
DEV_OP(trigonometry) = {"", names, takes, emit};
