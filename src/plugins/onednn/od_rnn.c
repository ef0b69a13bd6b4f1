/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_rnn.c - LSTM and GRU. The library orders gates differently from ONNX, has weights transposed, and
 * concatenates the outputs of two directions. */
#include <string.h>

#include "od_eltwise.h"
#include "od_shares.h"

enum { MOST_GATES = 4 };

typedef struct {
  const char *op;
  int gates;
  int order[MOST_GATES]; /* for each of the library's gates, the number of ONNX's */
} cell;

static const cell cells[] = {{"LSTM", 4, {0, 2, 3, 1}}, {"GRU", 3, {0, 1, 2, 0}}};

static const cell *cell_of(const od_node *n) { return &cells[strcmp(od_op_name(n), "GRU") == 0]; }
static bool is_lstm(const od_node *n) { return cell_of(n)->gates == 4; }
static bool resets_later(const od_node *n) { return !is_lstm(n) && od_int(n, "linear_before_reset", 0) != 0; }

/* ---- claims ---- */

static bool usual_activations(const od_node *n) {
  static const char *const names[] = {"Sigmoid", "Tanh", "Tanh"};
  size_t each = is_lstm(n) ? 3 : 2;
  ox_attr_view a;
  if (!n->ep->host.node_attr(n->g, n->index, "activations", &a)) return true;
  for (size_t i = 0; i < a.n; i++) {
    const char *want = names[i % each];
    if (a.strings[i].n != strlen(want) || memcmp(a.strings[i].p, want, a.strings[i].n) != 0) return false;
  }
  return true;
}

static bool is_constant_of(const od_node *n, size_t i, int rank) {
  const ox_tensor *t = od_in_const(n, i);
  return t && t->dtype == OX_F32 && t->shape.rank == rank && t->bytes;
}

static const char *refuse(const od_node *n) {
  ox_attr_view a;
  ox_shape x;
  if (od_in_type(n, 0, &x) != OX_F32 || (x.rank >= 0 && x.rank != 3)) return REASON("float32 and 3 axes", "{0}");
  if (!is_constant_of(n, 1, 3) || !is_constant_of(n, 2, 3))
    return REASON("constant weights of float32 and 3 axes", "{1}, {2}");
  if (od_in(n, 3) != OD_NO_VALUE && !is_constant_of(n, 3, 2))
    return REASON("constant biases of float32 and 2 axes", "{3}");
  if (od_in(n, 4) != OD_NO_VALUE) return REASON("sequences of one length", "{4}");
  if (od_in(n, 7) != OD_NO_VALUE) return REASON("no peepholes", "{7}");
  if (od_int(n, "layout", 0) || od_int(n, "input_forget", 0))
    return REASON("a layout of 0, and gates that are not coupled", "{layout=0}, {input_forget=0}");
  if (n->ep->host.node_attr(n->g, n->index, "clip", &a)) return REASON("no clip", "{clip}");
  if (!usual_activations(n)) return REASON("the standard's activations", "{activations}");
  const ox_shape *r = &od_in_const(n, 2)->shape, *w = &od_in_const(n, 1)->shape;
  int64_t d = od_is(n, "direction", "bidirectional", "forward") ? 2 : 1, h = r->dim[2];
  bool fits = w->dim[0] == d && r->dim[0] == d && w->dim[1] == cell_of(n)->gates * h && r->dim[1] == w->dim[1];
  const ox_tensor *b = od_in_const(n, 3);
  if (b) fits = fits && b->shape.dim[0] == d && b->shape.dim[1] == 2 * w->dim[1];
  return fits ? NULL : REASON("weights that fit together", "{inputs}");
}

/* ---- shapes ---- */

typedef struct {
  const cell *cell;
  int64_t steps, batch, inputs, hidden, directions;
  bool later;                                        /* linear_before_reset */
  dnnl_memory_desc_t x, h0, c0, w, r, bias, y, h, c; /* without dimensions: absent */
} net;

static dnnl_memory_desc_t md4(int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t dims[] = {a, b, c, d};
  return od_md_plain(4, dims, dnnl_f32);
}

static ox_status *find_net(od_builder *b, const od_node *n, net *k) {
  const ox_shape *x = od_in_shape(b, n, 0), *r = od_in_shape(b, n, 2), *w = od_in_shape(b, n, 1);
  *k = (net){.cell = cell_of(n),
             .steps = x->dim[0],
             .batch = x->dim[1],
             .inputs = x->dim[2],
             .hidden = r->dim[2],
             .directions = r->dim[0],
             .later = resets_later(n)};
  if (x->rank != 3) return od_bad_shape(b, "its input is not of three dimensions");
  if (w->dim[2] != k->inputs) return od_bad_shape(b, "the weights are for another number of inputs");
  const int64_t xd[] = {k->steps, k->batch, k->inputs}, yd[] = {k->steps, k->batch, k->directions * k->hidden};
  const int64_t wd[] = {1, k->directions, k->inputs, k->cell->gates, k->hidden},
                rd[] = {1, k->directions, k->hidden, k->cell->gates, k->hidden};
  dnnl_memory_desc_t state = md4(1, k->directions, k->batch, k->hidden);
  for (size_t i = 5; i < 7; i++)
    if (od_in(n, i) != OD_NO_VALUE && od_count(od_in_shape(b, n, i)) != k->directions * k->batch * k->hidden)
      return od_bad_shape(b, "an initial state has another shape");
  k->x = od_md_plain(3, xd, dnnl_f32), k->y = od_md_plain(3, yd, dnnl_f32);
  k->w = od_md_any(5, wd, dnnl_f32), k->r = od_md_any(5, rd, dnnl_f32);
  k->bias = md4(1, k->directions, k->cell->gates + k->later, k->hidden);
  if (od_in(n, 5) != OD_NO_VALUE) k->h0 = state;
  if (is_lstm(n) && (k->h0.ndims || od_in(n, 6) != OD_NO_VALUE)) k->h0 = k->c0 = state; /* both or none */
  if (od_out(n, 1) != OD_NO_VALUE || od_out(n, 2) != OD_NO_VALUE) k->h = state;
  if (is_lstm(n)) k->c = k->h;
  return NULL;
}

static const dnnl_memory_desc_t *given(const dnnl_memory_desc_t *md) { return md->ndims ? md : NULL; }

static dnnl_status_t describe(od_builder *b, const od_node *n, const net *k, dnnl_primitive_desc_t *out_pd) {
  dnnl_rnn_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_rnn_direction_t way = k->directions == 2                            ? dnnl_bidirectional_concat
                             : od_is(n, "direction", "reverse", "forward") ? dnnl_unidirectional_right2left
                                                                           : dnnl_unidirectional_left2right;
  dnnl_status_t s = dnnl_primitive_attr_create(&attr);
  if (s != dnnl_success) return s;
  s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  if (s == dnnl_success && is_lstm(n))
    s = dnnl_lstm_forward_desc_init(&desc, dnnl_forward_inference, way, &k->x, given(&k->h0), given(&k->c0), &k->w,
                                    &k->r, &k->bias, &k->y, given(&k->h), given(&k->c), dnnl_rnn_flags_undef);
  else if (s == dnnl_success && k->later)
    s = dnnl_lbr_gru_forward_desc_init(&desc, dnnl_forward_inference, way, &k->x, given(&k->h0), &k->w, &k->r, &k->bias,
                                       &k->y, given(&k->h), dnnl_rnn_flags_undef);
  else if (s == dnnl_success)
    s = dnnl_gru_forward_desc_init(&desc, dnnl_forward_inference, way, &k->x, given(&k->h0), &k->w, &k->r, &k->bias,
                                   &k->y, given(&k->h), dnnl_rnn_flags_undef);
  if (s == dnnl_success) s = od_primitive_desc_create(out_pd, &desc, attr, b->ep->engine);
  dnnl_primitive_attr_destroy(attr);
  return s;
}

/* ---- weights ---- */

static float at(const ox_tensor *t, int64_t i) {
  float x;
  memcpy(&x, (const char *)t->data + i * 4, sizeof x);
  return x;
}

/* Transposes [directions, gates * hidden, in] to [directions, in, gates, hidden], gates in the library's order. */
static ox_status *make_weights(od_builder *b, const od_node *n, size_t input, const net *k, int64_t in,
                               const dnnl_memory_desc_t *to, uint32_t *out_mem) {
  const ox_tensor *t = od_in_const(n, input);
  int64_t gates = k->cell->gates, hidden = k->hidden, dims[] = {1, k->directions, in, gates, hidden};
  OD_TRY(od_fixed_find(b, od_in(n, input), 6, to, out_mem));
  if (*out_mem != OD_NO_VALUE) return NULL;
  float *w = od_alloc(b->ep, t->bytes);
  if (!w) return od_no_memory(b->ep);
  for (int64_t d = 0; d < k->directions; d++)
    for (int64_t i = 0; i < in; i++)
      for (int64_t g = 0; g < gates; g++)
        for (int64_t h = 0; h < hidden; h++)
          w[((d * in + i) * gates + g) * hidden + h] = at(t, ((d * gates + k->cell->order[g]) * hidden + h) * in + i);
  dnnl_memory_desc_t plain = od_md_plain(5, dims, dnnl_f32);
  ox_status *st = od_fixed_make(b, od_in(n, input), 6, w, &plain, to, out_mem);
  od_free(b->ep, w);
  return st;
}

/* Adds up the input and recurrent bias of each gate. With linear_before_reset the last gate of a GRU keeps them apart,
 * the recurrent one as an additional gate. */
static void add_biases(const ox_tensor *t, const net *k, float *bias) {
  int64_t gates = k->cell->gates, hidden = k->hidden, to = gates + k->later;
  for (int64_t d = 0; t && d < k->directions; d++)
    for (int64_t g = 0; g < gates; g++)
      for (int64_t h = 0; h < hidden; h++) {
        int64_t from = (d * 2 * gates + k->cell->order[g]) * hidden + h;
        float first = at(t, from), second = at(t, from + gates * hidden);
        bool apart = k->later && g == gates - 1;
        bias[(d * to + g) * hidden + h] = apart ? first : first + second;
        if (apart) bias[(d * to + g + 1) * hidden + h] = second;
      }
}

static ox_status *make_bias(od_builder *b, const od_node *n, const net *k, uint32_t *out_mem) {
  uint32_t value = od_in(n, 3) == OD_NO_VALUE ? od_in(n, 2) : od_in(n, 3);
  uint64_t tag = k->later ? 10 : 12;
  OD_TRY(od_fixed_find(b, value, tag, &k->bias, out_mem));
  if (*out_mem != OD_NO_VALUE) return NULL;
  float *bias = od_alloc(b->ep, dnnl_memory_desc_get_size(&k->bias));
  if (!bias) return od_no_memory(b->ep);
  add_biases(od_in_const(n, 3), k, bias);
  ox_status *st = od_fixed_make(b, value, tag, bias, &k->bias, &k->bias, out_mem);
  od_free(b->ep, bias);
  return st;
}

/* ---- inputs and outputs ---- */

/* The initial state: an input of the node, or zeros. */
static ox_status *read_state(od_builder *b, const od_node *n, size_t input, const dnnl_memory_desc_t *md, int id,
                             od_args *args) {
  uint32_t mem;
  if (!md->ndims) return NULL;
  if (od_in(n, input) != OD_NO_VALUE) {
    OD_TRY(od_read_dims(b, od_in(n, input), 4, md->dims, &mem));
  } else {
    OD_TRY(od_temporary(b, md, &mem));
    OD_TRY(od_emit_fill(b, mem, 0));
  }
  od_arg_add(args, id, mem);
  return NULL;
}

static ox_status *write_state(od_builder *b, const od_node *n, size_t output, const net *k,
                              const dnnl_memory_desc_t *md, int id, od_args *args) {
  ox_shape shape = {3, {k->directions, k->batch, k->hidden}};
  uint32_t mem;
  if (!md->ndims) return NULL;
  if (od_out(n, output) == OD_NO_VALUE)
    OD_TRY(od_temporary(b, md, &mem));
  else
    OD_TRY(od_write(b, od_out(n, output), &shape, OX_F32, md, &mem));
  od_arg_add(args, id, mem);
  return NULL;
}

/* Chooses the memory for Y. The primitive writes |*out_mem| as [steps, batch, directions * hidden]. For one direction
 * that is ONNX's [steps, 1, batch, hidden]; for two it is a temporary, and |*out_y| is the output to copy it to. */
static ox_status *write_steps(od_builder *b, const od_node *n, const net *k, uint32_t *out_y, uint32_t *out_mem) {
  ox_shape shape = {4, {k->steps, k->directions, k->batch, k->hidden}};
  *out_y = OD_NO_VALUE;
  if (od_out(n, 0) == OD_NO_VALUE) return od_temporary(b, &k->y, out_mem);
  if (k->directions == 1) return od_write(b, od_out(n, 0), &shape, OX_F32, &k->y, out_mem);
  dnnl_memory_desc_t md = od_md_plain(4, shape.dim, dnnl_f32);
  OD_TRY(od_write(b, od_out(n, 0), &shape, OX_F32, &md, out_y));
  return od_temporary(b, &k->y, out_mem);
}

/* Copies |from|, where the two directions are concatenated per row, to ONNX's layout, where they are separate. */
static ox_status *part_directions(od_builder *b, const net *k, uint32_t from, uint32_t to) {
  int64_t both = k->directions * k->hidden;
  const int64_t dims[] = {k->steps, k->directions, k->batch, k->hidden},
                strides[] = {k->batch * both, k->hidden, both, 1};
  dnnl_memory_desc_t md = od_md_strided(4, dims, strides, dnnl_f32);
  uint32_t seen;
  OD_TRY(od_view(b, from, &md, &seen));
  return od_copy(b, seen, to);
}

/* A sequence of no steps: the final states are the initial ones. */
static ox_status *build_nothing(od_builder *b, const od_node *n, const net *k) {
  for (size_t i = 0; i < 3; i++) {
    ox_shape shape = i ? (ox_shape){3, {k->directions, k->batch, k->hidden}}
                       : (ox_shape){4, {k->steps, k->directions, k->batch, k->hidden}};
    dnnl_memory_desc_t md = od_md_plain(shape.rank, shape.dim, dnnl_f32);
    uint32_t to, from;
    if (od_out(n, i) == OD_NO_VALUE) continue;
    OD_TRY(od_write(b, od_out(n, i), &shape, OX_F32, &md, &to));
    if (od_count(&shape) == 0) continue;
    if (od_in(n, 4 + i) == OD_NO_VALUE) {
      OD_TRY(od_emit_fill(b, to, 0));
      continue;
    }
    OD_TRY(od_read_plain(b, od_in(n, 4 + i), &from));
    OD_TRY(od_copy(b, from, to));
  }
  return NULL;
}

static ox_status *fill_args(od_builder *b, const od_node *n, const net *k, const_dnnl_primitive_desc_t pd,
                            od_args *args) {
  uint32_t mem;
  dnnl_memory_desc_t w = od_md_wanted(pd, dnnl_query_weights_md, 0), r = od_md_wanted(pd, dnnl_query_weights_md, 1);
  OD_TRY(od_read_plain(b, od_in(n, 0), &mem));
  od_arg_add(args, DNNL_ARG_SRC_LAYER, mem);
  OD_TRY(read_state(b, n, 5, &k->h0, DNNL_ARG_SRC_ITER, args));
  OD_TRY(read_state(b, n, 6, &k->c0, DNNL_ARG_SRC_ITER_C, args));
  OD_TRY(make_weights(b, n, 1, k, k->inputs, &w, &mem));
  od_arg_add(args, DNNL_ARG_WEIGHTS_LAYER, mem);
  OD_TRY(make_weights(b, n, 2, k, k->hidden, &r, &mem));
  od_arg_add(args, DNNL_ARG_WEIGHTS_ITER, mem);
  OD_TRY(make_bias(b, n, k, &mem));
  od_arg_add(args, DNNL_ARG_BIAS, mem);
  OD_TRY(write_state(b, n, 1, k, &k->h, DNNL_ARG_DST_ITER, args));
  return write_state(b, n, 2, k, &k->c, DNNL_ARG_DST_ITER_C, args);
}

static ox_status *build(od_builder *b, const od_node *n) {
  net k;
  od_args args = {0};
  dnnl_primitive_desc_t pd;
  uint32_t y, made;
  OD_TRY(find_net(b, n, &k));
  if (!k.steps || !k.batch || !k.inputs || !k.hidden) return build_nothing(b, n, &k);
  OD_TRY(write_steps(b, n, &k, &y, &made));
  OD_TRY(od_check(b, describe(b, n, &k, &pd), "describing a recurrent network"));
  ox_status *st = fill_args(b, n, &k, pd, &args);
  if (st) {
    dnnl_primitive_desc_destroy(pd);
    return st;
  }
  od_arg_add(&args, DNNL_ARG_DST_LAYER, made);
  OD_TRY(od_emit(b, pd, &args));
  return y == OD_NO_VALUE ? NULL : part_directions(b, &k, made, y);
}

const od_op od_rnn_ops[] = {{"LSTM", refuse, build}, {"GRU", refuse, build}, {NULL, NULL, NULL}};
