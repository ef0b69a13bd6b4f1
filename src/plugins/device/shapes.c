/* SPDX-License-Identifier: Apache-2.0
 * device/shapes.c - see shapes.h. The operators are those that the host can evaluate on known inputs (graph/known.h).
 * Only cases that it certainly evaluates may be taken: results have to be known when a plan is built. */
#include "plugins/device/shapes.h"

#include <string.h>

#include "base/macros.h"

enum { MOST_ELEMENTS = 64 }; /* largest content that the host tracks */

static bool is_count(uint32_t dtype) { return dtype == OX_I64 || dtype == OX_I32; }

/* The number of elements of a value whose content can be tracked (integers of at most one axis); -1: it cannot be, or
 * its size is unknown. */
static int64_t length_of(const dev_node *n, uint32_t value) {
  uint32_t kind, dtype;
  ox_shape s;
  if (value == UINT32_MAX) return -1;
  n->host->value_type(n->graph, value, &kind, &dtype, &s);
  if (kind != OX_TENSOR || !is_count(dtype) || s.rank < 0 || s.rank > 1) return -1;
  int64_t count = s.rank ? s.dim[0] : 1;
  return count <= MOST_ELEMENTS ? count : -1;
}

/* ---- operators that the host computes ---- */

static bool along_first(const dev_node *n) {
  int64_t axis = dev_attr_int(n, "axis", 0);
  return axis == 0 || axis == -1;
}

static bool gather(const dev_node *n) { return dev_in_rank(n, 0) == 1 && along_first(n); }

static bool concat(const dev_node *n) {
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (dev_in_rank(n, i) != 1) return false;
  return along_first(n);
}

static bool slice(const dev_node *n) {
  int64_t step = 1, start[2];
  if (dev_in_rank(n, 0) != 1) return false;
  if (dev_node_version(n) < 10) return dev_attr_ints(n, "starts", start, 2) == 1;
  bool steps = dev_in_count(n) > 4 && dev_in(n, 4) != UINT32_MAX;
  return length_of(n, dev_in(n, 1)) == 1 && (!steps || (dev_in_ints(n, 4, &step, 1) == 1 && step == 1));
}

static bool reshape(const dev_node *n) {
  int64_t to, count = length_of(n, dev_in(n, 0));
  size_t axes = dev_in_ints(n, 1, &to, 1);
  if (dev_node_version(n) < 5 || count < 1) return false;
  return axes == 0 ? count == 1 : axes == 1 && (to == -1 || to == count);
}

static bool squeeze(const dev_node *n) { return length_of(n, dev_in(n, 0)) == 1; }
static bool unsqueeze(const dev_node *n) { return dev_in_rank(n, 0) == 0 && length_of(n, dev_out(n, 0)) == 1; }
static bool cast(const dev_node *n) { return is_count(dev_in_dtype(n, 0)); }
static bool binary(const dev_node *n) {
  return dev_node_version(n) >= 7 && dev_in_count(n) == 2 && dev_in_dtype(n, 0) == OX_I64 &&
         dev_in_dtype(n, 1) == OX_I64;
}
static bool any(const dev_node *n) {
  (void)n;
  return true;
}

/* |takes|: further conditions, once inputs and outputs are known to be contents. |of_shape|: the operator reads only
 * the shape of its input. */
static const struct {
  const char *name;
  bool of_shape;
  bool (*takes)(const dev_node *n);
} operators[] = {
    {"Shape", true, any},     {"Size", true, any},         {"Gather", false, gather},   {"Concat", false, concat},
    {"Slice", false, slice},  {"Reshape", false, reshape}, {"Squeeze", false, squeeze}, {"Unsqueeze", false, unsqueeze},
    {"Identity", false, any}, {"Cast", false, cast},       {"Add", false, binary},      {"Sub", false, binary},
    {"Mul", false, binary},   {"Div", false, binary}};

static size_t operator_of(const dev_node *n) {
  size_t i = 0;
  if (*n->host->node_domain(n->graph, n->index)) return OX_COUNT(operators);
  while (i < OX_COUNT(operators) && strcmp(operators[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

/* Does the host have the content of input |i|, or will it? */
static bool host_has(const dev_node *n, size_t i) {
  uint32_t v = dev_in(n, i);
  const ox_tensor *t = dev_in_constant(n, i);
  if (v == UINT32_MAX) return true;
  if (t) return is_count(t->dtype) && t->shape.rank <= 1 && length_of(n, v) >= 0;
  return n->lies[v] != DEV_ON_DEVICE && length_of(n, v) >= 0;
}

/* Does the node compute a content from contents alone, by an operator of the table? */
static bool is_arithmetic(const dev_node *n, size_t row) {
  if (row == OX_COUNT(operators) || operators[row].of_shape || n->host->node_out_count(n->graph, n->index) != 1)
    return false;
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (!host_has(n, i)) return false;
  return length_of(n, dev_out(n, 0)) >= 0 && operators[row].takes(n);
}

static bool reads_host_value(const dev_node *n) {
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (dev_in(n, i) != UINT32_MAX && n->lies[dev_in(n, i)] == DEV_WITH_HOST) return true;
  return false;
}

/* Nodes that read nothing from this part are left to the CPU, which computes them once for all runs of a shape. */
bool dev_shapes_takes(const dev_node *n) {
  size_t row = operator_of(n);
  if (row < OX_COUNT(operators) && operators[row].of_shape)
    return dev_in(n, 0) != UINT32_MAX && n->lies[dev_in(n, 0)] == DEV_ON_DEVICE;
  return is_arithmetic(n, row) && reads_host_value(n);
}

bool dev_in_host(const dev_node *n, size_t i) {
  return dev_in_constant(n, i) || (n->lies && dev_in(n, i) != UINT32_MAX && host_has(n, i));
}

/* ---- operators that need the content of an input ---- */

static const struct {
  const char *name; /* as in dev_op.names */
  uint32_t in;      /* bit i: input i */
  bool shape_only;  /* it determines the shape of an output and nothing else */
} slots[] = {
    {"Reshape", 1u << 1, false}, {"Squeeze", 1u << 1, false},   {"Unsqueeze", 1u << 1, false},
    {"Expand", 1u << 1, false},  {"Tile", 1u << 1, false},      {"Split", 1u << 1, false},
    {"Slice", 0x1e, false},      {"Pad", 0xa, false},           {"Resize", 1u << 3, false},
    {"Range", 0x7, false},       {"ConstantOfShape", 1, false}, {"com.microsoft:GroupQueryAttention", 1u << 6, true}};

static size_t slots_of(const dev_node *n) {
  size_t i = 0;
  const char *domain = n->host->node_domain(n->graph, n->index);
  while (i < OX_COUNT(slots) && !dev_op_is_called(slots[i].name, "", domain, dev_node_op(n))) i++;
  return i;
}

/* ---- parts ---- */

/* An intermediate state of dev_shapes_place: with the host if a reader needs the content, else on the device. */
enum { MAYBE = DEV_SHAPE_ONLY + 1 };

static bool host_value(uint8_t lies) { return lies == DEV_WITH_HOST; }

/* Forward pass: marks what certainly is shape arithmetic, and what may be. */
static void look_ahead(const dev_node *n, uint8_t *lies) {
  size_t row = operator_of(n), n_out = n->host->node_out_count(n->graph, n->index);
  bool shape = row < OX_COUNT(operators) && operators[row].of_shape;
  bool made = shape || is_arithmetic(n, row), sure = shape || reads_host_value(n);
  for (size_t i = 0; i < n_out; i++)
    if (dev_out(n, i) != UINT32_MAX) lies[dev_out(n, i)] = !made ? DEV_ON_DEVICE : sure ? DEV_WITH_HOST : MAYBE;
}

static void need(const dev_node *n, size_t i, uint8_t *lies) {
  uint32_t v = dev_in(n, i);
  if (v != UINT32_MAX && lies[v] == MAYBE) lies[v] = DEV_WITH_HOST;
}

/* Backward pass: marks inputs whose contents are needed. */
static void look_back(const dev_node *n, uint8_t *lies) {
  size_t row = operator_of(n), slot = slots_of(n);
  bool computed = dev_out(n, 0) != UINT32_MAX && host_value(lies[dev_out(n, 0)]);
  if (computed && row < OX_COUNT(operators)) {
    for (size_t i = 0; i < dev_in_count(n) && !operators[row].of_shape; i++) need(n, i, lies);
  } else if (slot < OX_COUNT(slots) && !slots[slot].shape_only) {
    for (size_t i = 0; i < dev_in_count(n) && i < 32; i++)
      if (slots[slot].in >> i & 1) need(n, i, lies);
  }
}

/* Is |value| read, and by every reader for the shape of an output only? */
static bool is_shape_only(const ox_ep_host *h, const ox_graph_view *g, uint32_t value) {
  bool found = false;
  for (size_t i = 0; i < h->node_count(g); i++) {
    const dev_node n = {.host = h, .graph = g, .index = i};
    for (size_t k = 0; k < dev_in_count(&n); k++) {
      if (dev_in(&n, k) != value) continue;
      size_t slot = slots_of(&n);
      if (slot == OX_COUNT(slots) || !slots[slot].shape_only || k >= 32 || !(slots[slot].in >> k & 1)) return false;
      found = true;
    }
  }
  return found;
}

void dev_shapes_place(const ox_ep_host *h, const ox_graph_view *part, uint8_t *out) {
  dev_node n = {.host = h, .graph = part, .lies = out};
  size_t count = h->node_count(part);
  memset(out, DEV_ON_DEVICE, h->value_count(part));
  for (size_t i = 0; i < h->io_count(part, 0); i++) {
    uint32_t v = h->io_value(part, 0, i);
    out[v] = is_shape_only(h, part, v) ? DEV_SHAPE_ONLY : length_of(&n, v) >= 0 ? MAYBE : DEV_ON_DEVICE;
  }
  for (n.index = 0; n.index < count; n.index++) look_ahead(&n, out);
  for (n.index = count; n.index-- > 0;) look_back(&n, out);
  for (size_t v = 0; v < h->value_count(part); v++)
    if (out[v] == MAYBE) out[v] = DEV_ON_DEVICE;
}
