/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_model.c - see search_model.h. */
#include "ops/search/search_model.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "kern/quant/convert.h"

/* Inputs of a decoder alone. */
enum { IDS, POSITIONS, MASK, PAST };

static const ox_type *input_type(const ox_graph *g, uint32_t i) { return &g->values[g->inputs[i]].type; }
static const char *input_name(const ox_graph *g, uint32_t i) { return g->values[g->inputs[i]].name; }

int64_t ox_search_vocabulary(const ox_graph *decoder) {
  const ox_shape *s = decoder->n_outputs ? &ox_body_type(decoder, 0)->shape : NULL;
  return s && s->rank == 3 ? s->dim[2] : -1;
}

/* |t| becomes int32 [rows, n] in new memory; its old memory is released. */
static ox_status *make_tokens(const ox_search_model *m, int64_t rows, int64_t n, ox_tensor *t) {
  ox_shape shape = ox_shape_of(2, (int64_t[]){rows, n});
  if (t->data) ox_control_drop(m->c, t);
  *t = ox_tensor_view(OX_I32, &shape, NULL);
  return ox_control_room(m->c, t);
}

/* |to|'s row r is row from[r] of |t|, or with NULL r / repeat; rows are dimension |axis|. */
static ox_status *pick_rows(const ox_search_model *m, const ox_tensor *t, int axis, const int64_t *from, int64_t repeat,
                            ox_tensor *to) {
  if (t->kind != OX_TENSOR || t->shape.rank <= axis || t->shape.dim[axis] * repeat != m->rows ||
      ox_dtype_bits(t->dtype) < 8 || t->dtype == OX_STRING) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "a state is %s%s, wanted %lld rows", ox_dtype_name(t->dtype),
                   ox_shape_text(&t->shape, text), (long long)m->rows);
  }
  ox_shape shape = t->shape;
  int64_t outer = ox_shape_span(&shape, 0, axis), have = shape.dim[axis];
  size_t bytes = (size_t)ox_shape_span(&shape, axis + 1, shape.rank) * ox_dtype_bits(t->dtype) / 8;
  ox_tensor old = *to;
  shape.dim[axis] = m->rows;
  *to = ox_tensor_view(t->dtype, &shape, NULL);
  OX_TRY(ox_control_room(m->c, to));
  for (int64_t o = 0; o < outer && bytes; o++)
    for (int64_t r = 0; r < m->rows; r++)
      memcpy((char *)to->data + (size_t)(o * m->rows + r) * bytes,
             (const char *)t->data + (size_t)(o * have + (from ? from[r] : r / repeat)) * bytes, bytes);
  if (old.data) ox_control_drop(m->c, &old);
  return NULL;
}

static ox_status *run_body(const ox_search_model *m, ox_body *b, const ox_tensor **logits) {
  OX_TRY(ox_body_run(m->c, b));
  *logits = ox_body_output(m->c, b, 0);
  return NULL;
}

static ox_status *run_decoder(ox_search_model *m, ox_body *b, const ox_tensor **logits) {
  for (uint32_t i = 0; i < b->n_inputs; i++) b->args[i] = &m->in[i];
  m->last = b;
  return run_body(m, b, logits);
}

/* The states for the next step are outputs of the last one; rows are dimension 1 of GPT-2's states, which hold keys and
 * values. Without a last step the encoder made the states, and they are in place. */
static ox_status *keep_states(ox_search_model *m, const int64_t *from) {
  for (uint32_t i = 0; i < m->n_self && m->last; i++)
    OX_TRY(pick_rows(m, ox_body_output(m->c, m->last, 1 + i), m->kind == OX_MODEL_GPT, from, 1,
                     &m->in[m->first_past + i]));
  return NULL;
}

/* ---- bodies ---- */

static ox_status *wrong_body(const char *which, const ox_graph *g) {
  return ox_fail(OX_NOT_IMPLEMENTED, "the %s has %u inputs and %u outputs, which is no form that is known", which,
                 g->n_inputs, g->n_outputs);
}

static ox_status *check_gpt(ox_search_model *m) {
  const ox_body *bodies[] = {m->decoder, m->first};
  for (size_t k = 0; k < OX_COUNT(bodies); k++) {
    const ox_graph *g = bodies[k]->graph;
    if (g->n_outputs < 2 || g->n_inputs != g->n_outputs + 2 || bodies[k]->n_inputs != g->n_inputs ||
        g->n_inputs != m->decoder->graph->n_inputs)
      return wrong_body("decoder", g);
  }
  m->first_past = PAST, m->n_self = m->decoder->n_inputs - PAST;
  return NULL;
}

static ox_status *check_encoder_decoder(ox_search_model *m) {
  const ox_graph *d = m->decoder->graph, *e = m->encoder->graph;
  if (d->n_inputs < 3 || m->decoder->n_inputs != d->n_inputs || m->encoder->n_inputs != e->n_inputs)
    return wrong_body("decoder", d);
  m->first_past = m->kind == OX_MODEL_T5 ? 2 : 1;
  if (strcmp(input_name(d, m->first_past), "encoder_hidden_states") == 0) m->first_past++;
  uint32_t states = d->n_inputs - m->first_past;
  if (states == 0 || states % 4 || d->n_outputs != 1 + states / 2) return wrong_body("decoder", d);
  m->n_self = states / 2;
  /* an encoder that takes the decoder's first tokens makes its first step, too */
  bool both = e->n_inputs == (m->kind == OX_MODEL_T5 ? 3 : 2);
  if (!(both && e->n_outputs == 2 + states) &&
      !(m->kind == OX_MODEL_T5 && e->n_inputs == 2 && e->n_outputs == m->n_self))
    return wrong_body("encoder", e);
  const ox_shape *ids = &input_type(d, 0)->shape;
  m->whole = !(ids->rank == 2 && ids->dim[1] == 1);
  return NULL;
}

ox_status *ox_search_model_init(ox_search_model *m, const ox_tensor *prompt, const ox_tensor *mask) {
  if (!m->decoder || (m->kind != OX_MODEL_GPT && !m->encoder))
    return ox_fail(OX_INVALID_MODEL, "the %s is missing", m->decoder ? "encoder" : "decoder");
  if (!m->first) m->first = m->decoder;
  OX_TRY(m->kind == OX_MODEL_GPT ? check_gpt(m) : check_encoder_decoder(m));
  if (m->kind != OX_MODEL_WHISPER && mask && !ox_shape_equal(&mask->shape, &prompt->shape)) {
    char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "attention_mask has shape %s, the tokens %s", ox_shape_text(&mask->shape, a),
                   ox_shape_text(&prompt->shape, b));
  }
  m->in = ox_control_array(m->c, m->decoder->n_inputs, sizeof *m->in);
  m->position = ox_control_array(m->c, (size_t)m->rows, sizeof *m->position);
  return m->in && m->position ? NULL : ox_oom();
}

/* ---- a decoder alone ---- */

/* Padding is masked, unless the mask input includes it, and has position 0. */
static ox_status *gpt_inputs(ox_search_model *m, const ox_sequences *s, const ox_tensor *mask) {
  for (int i = 0; i < PAST; i++) OX_TRY(make_tokens(m, m->rows, s->length, &m->in[i]));
  int32_t *ids = m->in[IDS].data, *position = m->in[POSITIONS].data, *seen = m->in[MASK].data;
  for (int64_t r = 0; r < m->rows; r++) {
    int32_t next = 0;
    for (int64_t i = 0; i < s->length; i++) {
      int64_t at = r * s->length + i;
      ids[at] = ox_sequence(s, r)[i];
      seen[at] = mask ? ((const int32_t *)mask->data)[r / m->beams * s->length + i] : ids[at] != m->pad;
      position[at] = ids[at] != m->pad ? next++ : 0;
    }
    m->position[r] = next;
  }
  return NULL;
}

static ox_status *gpt_empty_states(ox_search_model *m) {
  for (uint32_t i = 0; i < m->n_self; i++) {
    const ox_type *t = input_type(m->first->graph, PAST + i);
    if (t->shape.rank != 5 || t->shape.dim[0] < 0 || t->shape.dim[2] < 0 || t->shape.dim[4] < 0 || !t->dtype)
      return ox_fail(OX_INVALID_MODEL, "the decoder's input %u does not say its heads and their size", PAST + i);
    ox_shape shape = t->shape;
    shape.dim[1] = m->rows, shape.dim[3] = 0;
    m->in[PAST + i] = ox_tensor_view(t->dtype, &shape, NULL);
    OX_TRY(ox_control_room(m->c, &m->in[PAST + i]));
  }
  return NULL;
}

/* Beams of one entry have the same mask and position, so these need not be reordered. */
static ox_status *gpt_next(ox_search_model *m, const ox_sequences *s) {
  ox_tensor old = m->in[MASK], *mask = &m->in[MASK];
  int64_t n = s->length;
  mask->data = NULL;
  OX_TRY(make_tokens(m, m->rows, n, mask));
  OX_TRY(make_tokens(m, m->rows, 1, &m->in[IDS]));
  OX_TRY(make_tokens(m, m->rows, 1, &m->in[POSITIONS]));
  for (int64_t r = 0; r < m->rows; r++) {
    int32_t *row = (int32_t *)mask->data + r * n;
    memcpy(row, (const int32_t *)old.data + r * (n - 1), (size_t)(n - 1) * sizeof *row);
    row[n - 1] = 1;
    ((int32_t *)m->in[IDS].data)[r] = ox_sequence(s, r)[n - 1];
    ((int32_t *)m->in[POSITIONS].data)[r] = m->position[r]++;
  }
  ox_control_drop(m->c, &old);
  return NULL;
}

/* ---- with an encoder ---- */

/* Padding on the left is masked; later padding tokens are not, as they may be the end token. */
static ox_status *encoder_mask(const ox_search_model *m, const ox_tensor *prompt, const ox_tensor *given,
                               ox_tensor *mask) {
  int64_t n = prompt->shape.dim[1];
  OX_TRY(make_tokens(m, m->batch, n, mask));
  for (int64_t b = 0; b < m->batch; b++) {
    bool begun = false;
    for (int64_t i = b * n; i < (b + 1) * n; i++) {
      begun = begun || ((const int32_t *)prompt->data)[i] != m->pad;
      ((int32_t *)mask->data)[i] = given ? ((const int32_t *)given->data)[i] : begun;
    }
  }
  return NULL;
}

/* The decoder's tokens: the new ones, or all. */
static ox_status *decoder_tokens(ox_search_model *m, const ox_sequences *s, int64_t n) {
  OX_TRY(make_tokens(m, m->rows, n, &m->in[IDS]));
  for (int64_t r = 0; r < m->rows; r++)
    memcpy((int32_t *)m->in[IDS].data + r * n, ox_sequence(s, r) + s->length - n, (size_t)n * sizeof(int32_t));
  return NULL;
}

/* Outputs of the encoder from |from| on become inputs of the decoder from |to| on, with a row for each beam. */
static ox_status *take_encoded(ox_search_model *m, uint32_t from, uint32_t to, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    OX_TRY(pick_rows(m, ox_body_output(m->c, m->encoder, from + i), 0, NULL, m->beams, &m->in[to + i]));
  return NULL;
}

static ox_status *empty_self_states(ox_search_model *m) {
  for (uint32_t i = 0; i < m->n_self; i++) {
    const ox_tensor *cross = &m->in[m->first_past + m->n_self + i];
    if (cross->shape.rank != 4) return ox_fail(OX_SHAPE_MISMATCH, "a state has rank %d, wanted 4", cross->shape.rank);
    ox_shape shape = cross->shape;
    shape.dim[2] = 0;
    m->in[m->first_past + i] = ox_tensor_view(cross->dtype, &shape, NULL);
    OX_TRY(ox_control_room(m->c, &m->in[m->first_past + i]));
  }
  return NULL;
}

/* The beams of an entry begin with the same tokens, so the encoder gets one row of each entry. */
static ox_status *encoder_tokens(ox_search_model *m, const ox_sequences *s, ox_tensor *t) {
  OX_TRY(make_tokens(m, m->batch, s->length, t));
  for (int64_t b = 0; b < m->batch; b++)
    memcpy((int32_t *)t->data + b * s->length, ox_sequence(s, b * m->beams), (size_t)s->length * sizeof(int32_t));
  return NULL;
}

static ox_status *encode(ox_search_model *m, const ox_sequences *s, const ox_tensor *prompt, const ox_tensor *given,
                         const ox_tensor **logits) {
  bool t5 = m->kind == OX_MODEL_T5, both = m->encoder->n_inputs == (t5 ? 3 : 2);
  uint32_t hidden = t5 ? 2 : 1, cross = m->first_past + m->n_self;
  ox_tensor mask = {0}, tokens = {0};
  m->encoder->args[0] = prompt;
  if (t5) {
    OX_TRY(encoder_mask(m, prompt, given, &mask));
    m->encoder->args[1] = &mask;
  }
  if (both) {
    OX_TRY(encoder_tokens(m, s, &tokens));
    m->encoder->args[m->encoder->n_inputs - 1] = &tokens;
  }
  OX_TRY(run_body(m, m->encoder, logits));
  if (t5) OX_TRY(pick_rows(m, &mask, 0, NULL, m->beams, &m->in[1]));
  if (m->first_past > hidden && !both) return wrong_body("encoder", m->encoder->graph);
  if (m->first_past > hidden) OX_TRY(take_encoded(m, 1, hidden, 1));
  if (both) return take_encoded(m, 2, m->first_past, 2 * m->n_self);
  OX_TRY(take_encoded(m, 0, cross, m->n_self));
  OX_TRY(empty_self_states(m));
  OX_TRY(decoder_tokens(m, s, s->length));
  return run_decoder(m, m->decoder, logits);
}

/* ---- steps ---- */

ox_status *ox_search_model_first(ox_search_model *m, const ox_sequences *s, const ox_tensor *prompt,
                                 const ox_tensor *mask, const ox_tensor **logits) {
  if (m->kind != OX_MODEL_GPT) return encode(m, s, prompt, mask, logits);
  OX_TRY(gpt_inputs(m, s, mask));
  OX_TRY(gpt_empty_states(m));
  return run_decoder(m, m->first, logits);
}

ox_status *ox_search_model_next(ox_search_model *m, const ox_sequences *s, const int64_t *from,
                                const ox_tensor **logits) {
  OX_TRY(keep_states(m, from));
  OX_TRY(m->kind == OX_MODEL_GPT ? gpt_next(m, s) : decoder_tokens(m, s, m->whole ? s->length : 1));
  return run_decoder(m, m->decoder, logits);
}

ox_status *ox_search_model_scores(const ox_search_model *m, const ox_tensor *logits, int64_t words, float *out) {
  const ox_shape *s = &logits->shape;
  if (logits->kind != OX_TENSOR || s->rank != 3 || (s->dim[0] != m->rows && s->dim[0] != m->batch) || s->dim[1] < 1 ||
      s->dim[2] < words || !(OX_BIT(logits->dtype) & OX_T_FLOAT)) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "the decoder's scores are %s%s, wanted %lld rows of %lld words",
                   ox_dtype_name(logits->dtype), ox_shape_text(s, text), (long long)m->rows, (long long)words);
  }
  int64_t repeat = m->rows / s->dim[0];
  for (int64_t r = 0; r < m->rows; r++) {
    int64_t at = ((r / repeat + 1) * s->dim[1] - 1) * s->dim[2];
    ox_convert_select(0)->load_f32[logits->dtype](logits->data, (size_t)at, (size_t)words, out + r * words);
  }
  return NULL;
}
