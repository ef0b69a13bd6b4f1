/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_chain.c - see od_chain.h. The longest possible chain is found first; the operator that begins it
 * shortens it until the library has an optimized implementation for it. */
#include "od_chain.h"

#include <math.h>
#include <string.h>

#include "od_gelu.h"
#include "od_quant.h"

/* ---- extending a chain ---- */

static void swallow(od_chain *c, size_t node, uint32_t out) {
  c->node[c->n_nodes++] = (od_swallowed){node, out, c->n_posts};
  c->out = out;
}

/* The library generates code once for all posts with the same algorithm, with the constants of one of them. */
static bool clashes(const od_chain *c, const od_function *f) {
  for (uint32_t i = 0; i < c->n_posts; i++) {
    const od_function *has = &c->post[i].f;
    if (c->post[i].operand == OD_NO_VALUE && has->alg == f->alg && (has->alpha != f->alpha || has->beta != f->beta))
      return true;
  }
  return false;
}

/* x * Sigmoid(x), and x * HardSigmoid(x) with the slope that the library's hardswish has. */
static bool add_swish(const od_builder *b, od_chain *c) {
  const od_value *v = &b->values[c->out];
  if (v->uses != 2 || v->output != OD_NONE || c->n_nodes + 2 > OD_MOST_SWALLOWED) return false;
  size_t first = od_next_reader(b, c->out, b->node + 1);
  size_t second = first == SIZE_MAX ? first : od_next_reader(b, c->out, first + 1);
  if (second == SIZE_MAX) return false;
  od_node gate = od_node_of(b, first), mul = od_node_of(b, second);
  bool hard = od_is_op(&gate, "HardSigmoid");
  if ((!hard && !od_is_op(&gate, "Sigmoid")) || !od_is_op(&mul, "Mul") || od_only_reader(b, od_out(&gate, 0)) != second)
    return false;
  if (hard && (fabsf(od_float(&gate, "alpha", 0.2f) - 1 / 6.0f) > 1e-6f || od_float(&gate, "beta", 0.5f) != 0.5f))
    return false;
  od_function f = {hard ? dnnl_eltwise_hardswish : dnnl_eltwise_swish, 1, 0};
  if (clashes(c, &f)) return false;
  c->post[c->n_posts++] = (od_post){.f = f, .operand = OD_NO_VALUE};
  c->node[c->n_nodes++] = (od_swallowed){first, OD_NO_VALUE, c->n_posts};
  swallow(c, second, od_out(&mul, 0));
  return true;
}

static bool add_gelu(const od_builder *b, od_chain *c) {
  od_gelu g;
  const od_value *v = &b->values[c->out];
  if (v->output != OD_NONE || c->dtype != OX_F32 || c->n_nodes + OD_GELU_NODES > OD_MOST_SWALLOWED) return false;
  if (!od_gelu_find(b, c->out, c->shape.rank, b->node + 1, &g) || g.uses != v->uses || clashes(c, &g.f)) return false;
  c->post[c->n_posts++] = (od_post){.f = g.f, .operand = OD_NO_VALUE};
  for (uint32_t i = 0; i + 1 < g.n; i++) c->node[c->n_nodes++] = (od_swallowed){g.node[i], OD_NO_VALUE, c->n_posts};
  swallow(c, g.node[g.n - 1], g.out);
  return true;
}

static bool add_function(const od_node *n, od_chain *c) {
  od_functions f;
  if (od_functions_read(n, &f) || od_in(n, f.input) != c->out || c->n_posts + f.n > OD_MOST_POSTS) return false;
  for (uint32_t i = 0; i < f.n; i++)
    if (clashes(c, &f.f[i])) return false;
  for (uint32_t i = 0; i < f.n; i++) c->post[c->n_posts++] = (od_post){.f = f.f[i], .operand = OD_NO_VALUE};
  swallow(c, n->index, od_out(n, 0));
  return true;
}

static dnnl_alg_kind_t arithmetic(const od_node *n, size_t at) {
  static const struct {
    const char *op;
    dnnl_alg_kind_t alg;
    bool either;
  } table[] = {{"Add", dnnl_binary_add, true},  {"Mul", dnnl_binary_mul, true}, {"Sub", dnnl_binary_sub, false},
               {"Div", dnnl_binary_div, false}, {"Max", dnnl_binary_max, true}, {"Min", dnnl_binary_min, true}};
  for (size_t i = 0; i < OD_COUNT(table); i++)
    if (od_is_op(n, table[i].op) && (table[i].either || at == 0) && od_n_in(n) == 2) return table[i].alg;
  return dnnl_alg_kind_undef;
}

bool od_chain_see(const od_chain *c, const ox_shape *s, od_post *p) {
  int64_t full[OD_MOST_DIMS];
  if (s->rank > c->shape.rank) return false;
  bool is_full = true, only_last = true, same = c->rank == c->shape.rank;
  for (int i = 0; i < c->shape.rank; i++) {
    int at = i - (c->shape.rank - s->rank);
    full[i] = at < 0 ? 1 : s->dim[at];
    if (full[i] != 1 && full[i] != c->shape.dim[i]) return false;
    is_full &= full[i] == c->shape.dim[i], only_last &= full[i] == 1 || i == c->shape.rank - 1;
    same &= i >= c->rank || c->dims[i] == c->shape.dim[i];
  }
  p->rank = c->rank;
  if (same) {
    memcpy(p->dims, full, sizeof full);
    return true;
  }
  for (int i = 0; i < c->rank; i++) p->dims[i] = is_full ? c->dims[i] : 1;
  if (is_full) return true;
  if (!only_last || c->dims[c->rank - 1] != c->shape.dim[c->shape.rank - 1]) return false;
  p->dims[c->rank - 1] = full[c->shape.rank - 1];
  return true;
}

static bool add_arithmetic(od_builder *b, const od_node *n, od_chain *c) {
  size_t at = od_in(n, 0) == c->out ? 0 : 1;
  od_post p = {.operand = od_in(n, 1 - at), .f.alg = arithmetic(n, at)};
  if (p.f.alg == dnnl_alg_kind_undef || p.operand == c->out || p.operand == OD_NO_VALUE) return false;
  const od_value *v = od_val(b, p.operand);
  bool known = v->n_forms || v->constant || v->quant.from != OD_NO_VALUE;
  if (v->dtype != c->dtype || !known || !od_chain_see(c, &v->shape, &p)) return false;
  p.sum = !c->of_integers && p.f.alg == dnnl_binary_add && !v->constant && od_count(&v->shape) == od_count(&c->shape);
  for (uint32_t i = 0; i < c->n_posts; i++) p.sum &= !c->post[i].sum && c->post[i].operand != p.operand;
  c->post[c->n_posts++] = p;
  swallow(c, n->index, od_out(n, 0));
  return true;
}

/* 1.5 * 2^23. Adding it to a number below 2^22 rounds that to an integer as ONNX does, since float32 has no fraction
 * bits in this range; it is even, so ties go to even. (Not all of the library's kernels have its rounding post.) */
enum { ROUNDS = 3 << 22 };

static bool add_quantize(const od_node *n, od_chain *c) {
  od_quant q;
  uint32_t type;
  if (!c->of_integers || !od_quantize_read(n, &q, &type) || od_in(n, 0) != c->out) return false;
  od_function f = {dnnl_eltwise_linear, 1 / od_scale_at(&q, 0), od_zero_at(&q, 0) ? (float)ROUNDS : 0};
  if (c->n_posts == OD_MOST_POSTS || clashes(c, &f)) return false;
  od_chain_quantize(c, od_scale_at(&q, 0), od_zero_at(&q, 0), type);
  swallow(c, n->index, od_out(n, 0));
  return true;
}

/* Reads the bounds of a Relu or Clip; false: |p| is neither. */
static bool read_cut(const od_post *p, float *low, float *high) {
  *low = 0, *high = INFINITY;
  if (p->operand != OD_NO_VALUE) return false;
  if (p->f.alg == dnnl_eltwise_clip) *low = p->f.alpha, *high = p->f.beta;
  return p->f.alg == dnnl_eltwise_clip || (p->f.alg == dnnl_eltwise_relu && p->f.alpha == 0);
}

bool od_chain_only_cuts(const od_chain *c) {
  float low, high;
  for (uint32_t i = 0; i < c->n_posts; i++)
    if (!read_cut(&c->post[i], &low, &high)) return false;
  return true;
}

static int32_t quantize(const od_chain *c, float x) {
  float q = rintf(x / c->q_scale) + (float)c->q_zero;
  return (int32_t)fminf(fmaxf(q, (float)c->q_low), (float)c->q_high);
}

/* Rounding is monotonic, so clipping before it equals clipping after it at the quantized bounds. */
void od_chain_quantize(od_chain *c, float scale, int32_t zero, uint32_t type) {
  c->quantized = true, c->q_scale = scale, c->q_zero = zero, c->q_type = type;
  c->q_low = type == OX_I8 ? -128 : 0, c->q_high = c->q_low + 255;
  if (!od_chain_only_cuts(c)) return;
  for (uint32_t i = c->n_posts; i-- > 0;) { /* from the last on: quantize() clamps earlier bounds to the later ones */
    float low, high;
    read_cut(&c->post[i], &low, &high);
    int32_t q_low = quantize(c, low), q_high = quantize(c, high);
    c->q_low = q_low, c->q_high = q_high;
  }
}

uint32_t od_chain_type(const od_chain *c) { return c->quantized ? c->q_type : c->dtype; }

void od_chain_begin(uint32_t value, const ox_shape *shape, uint32_t dtype, int rank, const int64_t *dims,
                    od_chain *out) {
  *out = (od_chain){.first = value, .out = value, .shape = *shape, .dtype = dtype, .rank = rank};
  memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
}

void od_chain_own(od_chain *c, od_post p) {
  c->post[c->n_posts++] = p;
  c->n_own = c->n_posts;
}

void od_chain_find(od_builder *b, od_chain *c) {
  for (bool more = true; more && !c->quantized && c->n_posts < OD_MOST_POSTS && c->n_nodes < OD_MOST_SWALLOWED;) {
    size_t reader = od_only_reader(b, c->out);
    od_node n = od_node_of(b, reader);
    more = reader == SIZE_MAX ? add_swish(b, c) || add_gelu(b, c)
                              : add_function(&n, c) || add_arithmetic(b, &n, c) || add_quantize(&n, c);
  }
}

bool od_chain_shorten(od_chain *c) {
  if (!c->n_nodes) return false;
  c->quantized = false;
  do c->n_nodes--;
  while (c->n_nodes && c->node[c->n_nodes - 1].out == OD_NO_VALUE);
  c->n_posts = c->n_nodes ? c->node[c->n_nodes - 1].n_posts : c->n_own;
  c->out = c->n_nodes ? c->node[c->n_nodes - 1].out : c->first;
  return true;
}

/* ---- the primitive ---- */

static dnnl_memory_desc_t operand_md(const od_chain *c, const od_post *p) {
  bool is_full = true;
  for (int i = 0; i < c->rank; i++) is_full &= p->dims[i] == c->dims[i];
  return is_full ? od_md_any(p->rank, p->dims, od_type(c->dtype)) : od_md_plain(p->rank, p->dims, od_type(c->dtype));
}

static dnnl_status_t append_posts(const od_chain *c, dnnl_post_ops_t posts) {
  dnnl_status_t s = dnnl_success;
  for (uint32_t i = 0; s == dnnl_success && i < c->n_posts; i++) {
    const od_post *p = &c->post[i];
    dnnl_memory_desc_t md = operand_md(c, p);
    if (p->operand == OD_NO_VALUE)
      s = dnnl_post_ops_append_eltwise(posts, 1, p->f.alg, p->f.alpha, p->f.beta);
    else if (p->sum)
      s = dnnl_post_ops_append_sum(posts, 1);
    else
      s = dnnl_post_ops_append_binary(posts, p->f.alg, &md);
  }
  return s;
}

/* The library adds the zero point before it rounds, ONNX after. Where it is not 0, a post rounds first by adding
 * ROUNDS, and the zero point passed to the library subtracts that again. Numbers too large for this saturate anyway. */
static dnnl_status_t append_quantization(const od_chain *c, dnnl_post_ops_t posts) {
  int32_t least = c->q_type == OX_I8 ? -128 : 0, most = least + 255;
  float low = (float)(c->q_low - c->q_zero), high = (float)(c->q_high - c->q_zero);
  float factor = od_chain_only_cuts(c) ? 1 : 1 / c->q_scale;
  dnnl_status_t s = dnnl_success;
  if (low == 0 && c->q_low != least && c->q_high == most)
    s = dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_relu, 0, 0);
  else if (c->q_low != least || c->q_high != most)
    s = dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_clip, low, high);
  if (s != dnnl_success || (factor == 1 && !c->q_zero)) return s;
  return dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_linear, factor, c->q_zero ? (float)ROUNDS : 0);
}

dnnl_status_t od_chain_attr(const od_builder *b, const od_chain *c, dnnl_primitive_attr_t attr) {
  dnnl_post_ops_t posts;
  dnnl_status_t s = dnnl_post_ops_create(&posts);
  (void)b;
  if (s != dnnl_success) return s;
  if (!c->quantized || !od_chain_only_cuts(c)) s = append_posts(c, posts);
  if (s == dnnl_success && c->quantized) s = append_quantization(c, posts);
  if (s == dnnl_success) s = dnnl_primitive_attr_set_post_ops(attr, posts);
  dnnl_post_ops_destroy(posts);
  int32_t zero = c->q_zero - ROUNDS;
  if (s == dnnl_success && c->quantized && c->q_zero)
    s = dnnl_primitive_attr_set_zero_points(attr, DNNL_ARG_DST, 1, 0, &zero);
  return s;
}

/* Reads |value| reshaped to the primitive's dimensions, in the layout |md|. */
static ox_status *read_operand(od_builder *b, uint32_t value, const od_post *p, const dnnl_memory_desc_t *md,
                               uint32_t *out_mem) {
  const ox_shape *s = &od_val(b, value)->shape;
  if (s->rank == p->rank && memcmp(s->dim, p->dims, (size_t)p->rank * sizeof *p->dims) == 0)
    return od_read_as(b, value, md, out_mem);
  OD_TRY(od_read_dims(b, value, p->rank, p->dims, out_mem));
  return od_reorder(b, *out_mem, md, out_mem);
}

static ox_status *read_operands(od_builder *b, const od_chain *c, const_dnnl_primitive_desc_t pd, od_args *args) {
  for (uint32_t i = 0; i < c->n_posts; i++) {
    uint32_t mem;
    int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)i) | DNNL_ARG_SRC_1;
    if (c->post[i].operand == OD_NO_VALUE || c->post[i].sum) continue;
    dnnl_memory_desc_t md = od_md_wanted(pd, dnnl_query_exec_arg_md, id);
    OD_TRY(read_operand(b, c->post[i].operand, &c->post[i], &md, &mem));
    od_arg_add(args, id, mem);
  }
  return NULL;
}

/* Is this primitive's sum the last to need the contents of |mem|? */
static bool may_overwrite(od_builder *b, const od_value *v, uint32_t mem, const od_args *args) {
  uint32_t buf = b->plan->mems[mem].buf;
  for (uint32_t i = 0; i < args->n; i++)
    if (b->plan->mems[args->a[i].mem].buf == buf) return false;
  return !v->uses && v->output == OD_NONE && b->plan->bufs[buf].place == OD_ARENA && b->plan->bufs[buf].n_values == 1;
}

/* The output's memory for a sum post: it already holds the addend, in place or copied. */
static ox_status *write_sum(od_builder *b, const od_chain *c, const od_post *p, const dnnl_memory_desc_t *md,
                            const od_args *args, uint32_t *out_mem) {
  uint32_t mem;
  OD_TRY(read_operand(b, p->operand, p, md, &mem));
  if (may_overwrite(b, od_val(b, p->operand), mem, args)) {
    *out_mem = mem;
    b->plan->bufs[b->plan->mems[mem].buf].n_values--; /* nobody reads it again */
    return od_define_seen(b, c->out, &c->shape, c->dtype, mem);
  }
  OD_TRY(od_write(b, c->out, &c->shape, c->dtype, md, out_mem));
  return od_copy(b, mem, *out_mem);
}

static ox_status *find_output(od_builder *b, const od_chain *c, const_dnnl_primitive_desc_t pd, od_args *args) {
  dnnl_memory_desc_t md = od_md_wanted(pd, dnnl_query_dst_md, 0);
  uint32_t dst = OD_NO_VALUE;
  for (uint32_t i = 0; i < c->n_posts; i++)
    if (c->post[i].sum) OD_TRY(write_sum(b, c, &c->post[i], &md, args, &dst));
  if (dst == OD_NO_VALUE) OD_TRY(od_write(b, c->out, &c->shape, od_chain_type(c), &md, &dst));
  od_arg_add(args, DNNL_ARG_DST, dst);
  return NULL;
}

ox_status *od_chain_emit(od_builder *b, const od_chain *c, dnnl_primitive_desc_t pd, od_args *args) {
  ox_status *st = read_operands(b, c, pd, args);
  od_node_done(b, b->node);
  for (uint32_t i = 0; i < c->n_nodes; i++) od_node_done(b, c->node[i].node);
  if (!st) st = find_output(b, c, pd, args);
  if (!st) return od_emit(b, pd, args);
  dnnl_primitive_desc_destroy(pd);
  return st;
}
