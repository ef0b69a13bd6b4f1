/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_binary.c - arithmetic of two tensors with broadcasting, with the nodes after it as post-operations.
 */
#include <string.h>

#include "od_gelu.h"
#include "od_int8.h"

static const struct {
  const char *op;
  dnnl_alg_kind_t alg;
  bool either; /* commutative */
} table[] = {{"Add", dnnl_binary_add, true},  {"Sub", dnnl_binary_sub, false}, {"Mul", dnnl_binary_mul, true},
             {"Div", dnnl_binary_div, false}, {"Max", dnnl_binary_max, true},  {"Min", dnnl_binary_min, true}};

static size_t row_of(const od_node *n) {
  for (size_t i = 0; i < OD_COUNT(table); i++)
    if (strcmp(table[i].op, od_op_name(n)) == 0) return i;
  return 0;
}

static const char *refuse(const od_node *n) {
  if (od_n_in(n) != 2) return REASON("two inputs", "{inputs}");
  for (size_t i = 0; i < 2; i++) {
    const char *why = od_refuse_type(n, i);
    if (why) return why;
  }
  if (od_in_type(n, 0, NULL) != od_in_type(n, 1, NULL)) return REASON("inputs of one type", "{inputs}");
  return NULL;
}

/* ---- shapes ---- */

typedef struct {
  int rank;
  int64_t dims[2][OD_MOST_DIMS];
  ox_shape y;
  size_t first; /* the input used as the library's first operand: one of the output's shape if there is one */
} operands;

static bool is_full(const operands *o, size_t i) {
  return memcmp(o->dims[i], o->y.dim, sizeof *o->y.dim * (size_t)o->y.rank) == 0;
}

static ox_status *find_operands(od_builder *b, const od_node *n, operands *o) {
  const ox_shape *s[] = {od_in_shape(b, n, 0), od_in_shape(b, n, 1)};
  *o = (operands){.y.rank = OD_MAX(s[0]->rank, s[1]->rank)};
  o->rank = OD_MAX(o->y.rank, 1);
  for (int i = 0; i < o->rank; i++) {
    for (int k = 0; k < 2; k++) {
      int at = i - (o->rank - s[k]->rank);
      o->dims[k][i] = at < 0 ? 1 : s[k]->dim[at];
    }
    o->y.dim[i] = o->dims[0][i] == 1 ? o->dims[1][i] : o->dims[0][i];
    if (o->dims[1][i] != 1 && o->dims[1][i] != o->y.dim[i])
      return od_bad_shape(b, "the shapes of its inputs do not fit");
  }
  o->first = table[row_of(n)].either && !is_full(o, 0) && is_full(o, 1);
  return NULL;
}

/* ---- the primitive ---- */

/* Reads an operand in the layout it has if its rank is the output's, else (or if |plain|) row-major. */
static ox_status *read_operand(od_builder *b, uint32_t value, const operands *o, size_t i, bool plain,
                               uint32_t *out_mem) {
  if (plain || od_val(b, value)->shape.rank != o->rank) return od_read_dims(b, value, o->rank, o->dims[i], out_mem);
  return od_read(b, value, out_mem);
}

static ox_status *describe(od_builder *b, const od_node *n, const operands *o, const uint32_t *mem,
                           const od_chain *chain, dnnl_status_t *out_s, dnnl_primitive_desc_t *out_pd) {
  dnnl_binary_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_memory_desc_t y =
      is_full(o, o->first) ? *od_md(b, mem[0]) : od_md_plain(o->rank, o->y.dim, od_type(chain->dtype));
  OD_TRY(od_attr_create(b, &attr));
  *out_s = dnnl_binary_desc_init(&desc, table[row_of(n)].alg, od_md(b, mem[0]), od_md(b, mem[1]), &y);
  if (*out_s == dnnl_success) *out_s = od_chain_attr(b, chain, attr);
  if (*out_s == dnnl_success) *out_s = dnnl_primitive_desc_create(out_pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  return NULL;
}

/* Tries the layouts as they are, then row-major, each with the longest chain for which there is fast code. If there is
 * none, computes row-major and without a chain. */
static ox_status *choose(od_builder *b, const od_node *n, const operands *o, od_chain *chain, uint32_t *mem,
                         dnnl_primitive_desc_t *out_pd) {
  const od_chain longest = *chain;
  const uint32_t value[] = {od_in(n, o->first), od_in(n, 1 - o->first)};
  dnnl_status_t s;
  for (int plain = 0; plain < 3; plain++) {
    *chain = longest;
    OD_TRY(read_operand(b, value[0], o, o->first, plain == 2, &mem[0]));
    dnnl_memory_desc_t md = *od_md(b, mem[0]);
    if (is_full(o, 0) && is_full(o, 1) && od_val(b, value[1])->shape.rank == o->rank)
      OD_TRY(od_read_as(b, value[1], &md, &mem[1]));
    else
      OD_TRY(read_operand(b, value[1], o, 1 - o->first, plain > 0, &mem[1]));
    for (;;) {
      OD_TRY(describe(b, n, o, mem, chain, &s, out_pd));
      bool fits = s == dnnl_success && (!od_is_reference(*out_pd) || (plain == 2 && !chain->n_nodes));
      if (fits) return NULL;
      if (s == dnnl_success) dnnl_primitive_desc_destroy(*out_pd);
      if (!od_chain_shorten(chain)) break;
    }
  }
  return od_check(b, s, "describing arithmetic");
}

/* Bug of the library: for images of one pixel, per-channel operands of posts are read as if all channels had the first
 * one's value. */
static bool misreads(const od_chain *c) {
  int64_t pixels = 1;
  for (int i = 2; i < c->rank; i++) pixels *= c->dims[i];
  if (c->rank < 3 || pixels != 1 || c->dims[0] == 1) return false;
  for (uint32_t i = 0; i < c->n_posts; i++)
    if (c->post[i].operand != OD_NO_VALUE && c->post[i].dims[0] == 1 && c->post[i].dims[1] > 1) return true;
  return false;
}

static ox_status *build(od_builder *b, const od_node *n) {
  operands o;
  od_chain chain;
  uint32_t mem[2], dtype = od_val(b, od_in(n, 0))->dtype;
  dnnl_primitive_desc_t pd;
  od_args args = {0};
  OD_TRY(find_operands(b, n, &o));
  if (od_count(&o.y) == 0) {
    dnnl_memory_desc_t md = od_md_plain(o.y.rank, o.y.dim, od_type(dtype));
    return od_write(b, od_out(n, 0), &o.y, dtype, &md, mem);
  }
  od_chain_begin(od_out(n, 0), &o.y, dtype, o.rank, o.y.rank ? o.y.dim : (const int64_t[]){1}, &chain);
  od_chain_find(b, &chain);
  while (misreads(&chain) && od_chain_shorten(&chain)) {
  }
  OD_TRY(choose(b, n, &o, &chain, mem, &pd));
  od_arg_add(&args, DNNL_ARG_SRC_0, mem[0]);
  od_arg_add(&args, DNNL_ARG_SRC_1, mem[1]);
  return od_chain_emit(b, &chain, pd, &args);
}

/* Builds a GELU, a function (arithmetic with one constant number), an integer Add, or else plain arithmetic. */
static ox_status *build_either(od_builder *b, const od_node *n) {
  od_functions f;
  od_gelu g;
  bool done = false;
  if (od_gelu_begins(b, n, &g)) return od_gelu_build(b, &g);
  if (!od_functions_read(n, &f)) return od_functions_build(b, n);
  if (table[row_of(n)].alg == dnnl_binary_add) OD_TRY(od_int8_add_build(b, n, &done));
  return done ? NULL : build(b, n);
}

const od_op od_binary_ops[] = {{"Add", refuse, build_either},
                               {"Sub", refuse, build_either},
                               {"Mul", refuse, build_either},
                               {"Div", refuse, build_either},
                               {"Max", refuse, build},
                               {"Min", refuse, build},
                               {NULL, NULL, NULL}};
