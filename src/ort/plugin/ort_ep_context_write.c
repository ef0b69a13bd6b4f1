/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context_write.c - a serialized model with compiled parts: from the outputs backwards, a value that
 * a node EPContext makes is taken from there, any other from the node of the model that makes it. Nodes are written in
 * the order in which they can run; what was not reached is left out. */
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_model_write.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_context.h"

/* Fields of onnx.proto beside those of ort_model_write.h. */
enum {
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_ATTRIBUTE = 5,
  ATTRIBUTE_GRAPH = 6,
  ATTRIBUTE_GRAPHS = 11,
  VALUE_NAME = 1,
  TENSOR_NAME = 8,
  MODEL_METADATA = 14
};

typedef struct name {
  const uint8_t *p;
  size_t n;
} name;

typedef struct source_node {
  name whole, content; /* with its tag, and without */
  uint8_t state;       /* 0: not reached, 1: its inputs are under way, 2: written */
} source_node;

typedef struct maker {
  name value;
  size_t node; /* nodes EPContext come first, and so do their values */
} maker;

typedef struct list {
  void *items;
  size_t n, room, item_bytes;
  bool failed;
} list;

typedef struct writer {
  list nodes, makers, order, stack, used; /* of source_node, maker, size_t, size_t, name */
  const ort_context_node *contexts;
  bool broken;
} writer;

static void *add(list *l, const void *item) {
  if (l->failed || !ort_room_for(&l->items, &l->room, l->n, l->item_bytes)) {
    l->failed = true;
    return NULL;
  }
  return memcpy((char *)l->items + l->n++ * l->item_bytes, item, l->item_bytes);
}

static int compare_names(const void *a, const void *b) {
  const name *x = a, *y = b;
  size_t n = x->n < y->n ? x->n : y->n;
  int order = n > 0 ? memcmp(x->p, y->p, n) : 0;
  return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static int compare_makers(const void *a, const void *b) {
  const maker *x = a, *y = b;
  int order = compare_names(&x->value, &y->value);
  return order != 0 ? order : (x->node > y->node) - (x->node < y->node);
}

/* ---- reading ---- */

/* Calls |found| for each field |number| of |message| that has a length. */
static void each(writer *w, name message, uint32_t number, void (*found)(writer *w, name content)) {
  const uint8_t *at = message.p, *end = at + message.n;
  ort_field f;
  while (at < end && !w->broken) {
    w->broken = !ort_next_field(&at, end, &f);
    if (!w->broken && f.number == number && f.wire == 2) found(w, (name){f.bytes, f.n});
  }
}

static void add_maker(writer *w, name value) {
  if (value.n > 0) add(&w->makers, &(maker){value, w->nodes.n - 1});
}

static void add_node(writer *w, name whole, name content) {
  add(&w->nodes, &(source_node){.whole = whole, .content = content});
  if (!w->nodes.failed) each(w, content, NODE_OUTPUT, add_maker);
}

static void add_nodes(writer *w, name graph) {
  const uint8_t *at = graph.p, *end = at + graph.n;
  ort_field f;
  while (at < end && !w->broken && !w->nodes.failed) {
    w->broken = !ort_next_field(&at, end, &f);
    if (!w->broken && f.number == ORT_GRAPH_NODE && f.wire == 2)
      add_node(w, (name){f.whole, f.whole_n}, (name){f.bytes, f.n});
  }
}

/* ---- what is needed ---- */

static maker *find_maker(const writer *w, name value) {
  const maker *makers = w->makers.items;
  size_t low = 0, high = w->makers.n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (compare_names(&makers[middle].value, &value) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < w->makers.n && compare_names(&makers[low].value, &value) == 0 ? (maker *)&makers[low] : NULL;
}

static void need(writer *w, name value) {
  add(&w->used, &value);
  const maker *m = find_maker(w, value);
  if (m != NULL && ((source_node *)w->nodes.items)[m->node].state == 0) add(&w->stack, &m->node);
}

static void need_of_graph(writer *w, name graph);

static void need_of_attribute(writer *w, name attribute) {
  each(w, attribute, ATTRIBUTE_GRAPH, need_of_graph);
  each(w, attribute, ATTRIBUTE_GRAPHS, need_of_graph);
}

static void need_of_node(writer *w, name node) {
  each(w, node, NODE_INPUT, need);
  each(w, node, NODE_ATTRIBUTE, need_of_attribute);
}

static void need_of_value(writer *w, name value) { each(w, value, VALUE_NAME, need); }

/* A body: what it reads of its own is nobody's here, or is kept without need. */
static void need_of_graph(writer *w, name graph) {
  each(w, graph, ORT_GRAPH_NODE, need_of_node);
  each(w, graph, ORT_GRAPH_OUTPUT, need_of_value);
}

static void order_nodes(writer *w, name graph) {
  each(w, graph, ORT_GRAPH_OUTPUT, need_of_value);
  while (w->stack.n > 0 && !w->broken && !w->stack.failed && !w->used.failed) {
    size_t i = ((size_t *)w->stack.items)[w->stack.n - 1];
    source_node *node = (source_node *)w->nodes.items + i;
    if (node->state == 0) {
      node->state = 1;
      need_of_node(w, node->content);
      continue;
    }
    w->stack.n--;
    if (node->state == 2) continue;
    node->state = 2;
    add(&w->order, &i);
  }
  if (w->used.n > 0) qsort(w->used.items, w->used.n, sizeof(name), compare_names);
}

static bool is_used(const writer *w, name value) {
  return w->used.n > 0 && bsearch(&value, w->used.items, w->used.n, sizeof(name), compare_names) != NULL;
}

/* ---- writing ---- */

static name field_of(name message, uint32_t number) {
  const uint8_t *at = message.p, *end = at + message.n;
  ort_field f;
  while (at < end && ort_next_field(&at, end, &f))
    if (f.number == number && f.wire == 2) return (name){f.bytes, f.n};
  return (name){NULL, 0};
}

static bool given_by_context(const writer *w, name initializer) {
  for (const ort_context_node *c = w->contexts; c != NULL; c = c->next) {
    const uint8_t *at = c->initializers.p, *end = at + c->initializers.n;
    ort_field f;
    while (at < end && ort_next_field(&at, end, &f)) {
      name mine = field_of((name){f.bytes, f.n}, TENSOR_NAME);
      if (compare_names(&mine, &initializer) == 0) return true;
    }
  }
  return false;
}

static bool is_kept(const writer *w, const ort_field *f) {
  name content = {f->bytes, f->n};
  if (f->wire != 2) return true;
  switch (f->number) {
    case ORT_GRAPH_NODE:
      return false; /* written in a new order */
    case ORT_GRAPH_INITIALIZER: {
      name value = field_of(content, TENSOR_NAME);
      return is_used(w, value) && !given_by_context(w, value);
    }
    case ORT_GRAPH_VALUE:
      return is_used(w, field_of(content, VALUE_NAME));
    default:
      return true;
  }
}

static OrtStatus *write_graph(writer *w, name graph, ort_bytes *out) {
  ort_bytes g = {0};
  for (const ort_context_node *c = w->contexts; c != NULL; c = c->next) add_nodes(w, (name){c->node.p, c->node.n});
  add_nodes(w, graph);
  if (w->makers.n > 0) qsort(w->makers.items, w->makers.n, sizeof(maker), compare_makers);
  order_nodes(w, graph);
  if (w->broken) return ort_fail(ORT_INVALID_PROTOBUF, "the model's bytes are no ModelProto");
  if (w->nodes.failed || w->makers.failed || w->order.failed || w->stack.failed || w->used.failed)
    return ort_out_of_memory();
  for (size_t i = 0; i < w->order.n; i++) {
    name whole = ((source_node *)w->nodes.items)[((size_t *)w->order.items)[i]].whole;
    ort_put_raw(&g, whole.p, whole.n);
  }
  for (const ort_context_node *c = w->contexts; c != NULL; c = c->next)
    ort_put_raw(&g, c->initializers.p, c->initializers.n), ort_put_raw(&g, c->values.p, c->values.n);
  const uint8_t *at = graph.p, *end = at + graph.n;
  ort_field f;
  while (at < end && ort_next_field(&at, end, &f))
    if (is_kept(w, &f)) ort_put_raw(&g, f.whole, f.whole_n);
  ort_put_message(out, ORT_MODEL_GRAPH, &g);
  ort_bytes_deinit(&g);
  return NULL;
}

static void write_properties(const OrtKeyValuePairs *properties, ort_bytes *out) {
  for (size_t i = 0; i < properties->n; i++) {
    ort_bytes entry = {0};
    ort_put_text(&entry, 1, properties->keys[i]);
    ort_put_text(&entry, 2, properties->values[i]);
    ort_put_message(out, MODEL_METADATA, &entry);
    ort_bytes_deinit(&entry);
  }
}

static OrtStatus *write_model(writer *w, name model, ort_bytes *out) {
  static const char microsoft[] = "com.microsoft";
  const uint8_t *at = model.p, *end = at + model.n;
  bool imported = false;
  ort_field f;
  while (at < end) {
    if (!ort_next_field(&at, end, &f)) return ort_fail(ORT_INVALID_PROTOBUF, "the model's bytes are no ModelProto");
    if (f.number == ORT_MODEL_GRAPH && f.wire == 2) {
      ORT_TRY(write_graph(w, (name){f.bytes, f.n}, out));
      continue;
    }
    if (f.number == ORT_MODEL_OPSET && f.wire == 2) {
      name domain = field_of((name){f.bytes, f.n}, ORT_OPSET_DOMAIN);
      imported |= domain.n == strlen(microsoft) && memcmp(domain.p, microsoft, domain.n) == 0;
    }
    ort_put_raw(out, f.whole, f.whole_n);
  }
  if (!imported) ort_opset_write(out, microsoft, 1);
  return NULL;
}

OrtStatus *ort_context_model_write(const void *model, size_t n, const ort_context_node *nodes,
                                   const OrtKeyValuePairs *properties, ort_bytes *out) {
  writer w = {.nodes = {.item_bytes = sizeof(source_node)},
              .makers = {.item_bytes = sizeof(maker)},
              .order = {.item_bytes = sizeof(size_t)},
              .stack = {.item_bytes = sizeof(size_t)},
              .used = {.item_bytes = sizeof(name)},
              .contexts = nodes};
  OrtStatus *st = write_model(&w, (name){model, n}, out);
  if (st == NULL) write_properties(properties, out);
  if (st == NULL && out->failed) st = ort_out_of_memory();
  free(w.nodes.items), free(w.makers.items), free(w.order.items), free(w.stack.items), free(w.used.items);
  return st;
}
