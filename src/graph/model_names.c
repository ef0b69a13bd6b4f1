/* SPDX-License-Identifier: Apache-2.0
 * graph/model_names.c - words that all graphs of a model share: operator sets, interned names, symbols of dimensions.
 */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/grow32.h"

enum { FIRST_SYMBOL = -2 };

static const char *domain_of(const char *domain) { return domain && strcmp(domain, "ai.onnx") != 0 ? domain : ""; }

int64_t ox_model_opset(const ox_model *m, const char *domain) {
  domain = domain_of(domain);
  for (uint32_t i = 0; i < m->n_opsets; i++)
    if (strcmp(m->opsets[i].domain, domain) == 0) return m->opsets[i].version;
  return 0;
}

ox_status *ox_model_set_opset(ox_model *m, const char *domain, int64_t version) {
  domain = domain_of(domain);
  for (uint32_t i = 0; i < m->n_opsets; i++)
    if (strcmp(m->opsets[i].domain, domain) == 0) {
      m->opsets[i].version = version;
      return NULL;
    }
  const char *copy = ox_model_intern(m, domain);
  if (!copy || !ox_grow32(m->alloc, (void **)&m->opsets, &m->cap_opsets, m->n_opsets, sizeof *m->opsets))
    return ox_oom();
  m->opsets[m->n_opsets++] = (ox_opset){copy, version};
  return NULL;
}

const char *ox_model_intern(ox_model *m, const char *s) {
  uint32_t id = ox_map_find(&m->interned, s);
  if (id != OX_NONE) return m->interned_names[id];
  char *copy = ox_arena_str(&m->arena, s, strlen(s));
  if (!copy || !ox_grow32(m->alloc, (void **)&m->interned_names, &m->cap_interned, m->n_interned, sizeof(char *)) ||
      !ox_map_put(&m->interned, copy, m->n_interned))
    return NULL;
  m->interned_names[m->n_interned++] = copy;
  return copy;
}

/* A new symbol, called |name| unless that is NULL. */
static ox_status *add_symbol(ox_model *m, const char *name, int64_t *out_dim) {
  if (!ox_grow32(m->alloc, (void **)&m->symbols, &m->cap_symbols, m->n_symbols, sizeof *m->symbols)) return ox_oom();
  m->symbols[m->n_symbols] = name;
  *out_dim = FIRST_SYMBOL - (int64_t)m->n_symbols++;
  return NULL;
}

/* The symbol that |key| stands for; a new one is called so if |named|. */
static ox_status *find_symbol(ox_model *m, const char *key, bool named, int64_t *out_dim) {
  uint32_t id = ox_map_find(&m->symbol_ids, key);
  *out_dim = FIRST_SYMBOL - (int64_t)id;
  if (id != OX_NONE) return NULL;
  char *copy = ox_arena_str(&m->arena, key, strlen(key));
  if (!copy) return ox_oom();
  OX_TRY(add_symbol(m, named ? copy : NULL, out_dim));
  if (ox_map_put(&m->symbol_ids, copy, m->n_symbols - 1)) return NULL;
  m->n_symbols--;
  return ox_oom();
}

ox_status *ox_model_symbol(ox_model *m, const char *name, int64_t *out_dim) {
  return find_symbol(m, name, true, out_dim);
}

ox_status *ox_model_symbol_for(ox_model *m, const char *key, int64_t *out_dim) {
  return find_symbol(m, key, false, out_dim);
}

ox_status *ox_model_symbol_new(ox_model *m, int64_t *out_dim) { return add_symbol(m, NULL, out_dim); }

const char *ox_model_symbol_name(const ox_model *m, int64_t dim) {
  if (dim > FIRST_SYMBOL) return NULL;
  uint64_t id = (uint64_t)FIRST_SYMBOL - (uint64_t)dim; /* well defined for INT64_MIN, too */
  return id < m->n_symbols ? m->symbols[id] : NULL;
}

const char *ox_model_shape_text(const ox_model *m, const ox_shape *s, char *buf) {
  if (s->rank < 0) return strcpy(buf, "[...]");
  size_t n = 0;
  for (int i = 0; i < s->rank && n < OX_MODEL_SHAPE_TEXT; i++) {
    const char *name = ox_model_symbol_name(m, s->dim[i]), *comma = i ? "," : "[";
    char *at = buf + n;
    size_t room = OX_MODEL_SHAPE_TEXT - n;
    if (s->dim[i] >= 0)
      n += (size_t)snprintf(at, room, "%s%lld", comma, (long long)s->dim[i]);
    else
      n += (size_t)snprintf(at, room, "%s%s", comma, name ? name : "?");
  }
  if (n < OX_MODEL_SHAPE_TEXT) snprintf(buf + n, OX_MODEL_SHAPE_TEXT - n, s->rank ? "]" : "[]");
  return buf;
}
