/* SPDX-License-Identifier: Apache-2.0
 * support/tiny_lm.c - see tiny_lm.h. */
#include "support/tiny_lm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float next(unsigned *x) {
  *x = *x * 1664525U + 1013904223U;
  return (float)((int)(*x >> 12 & 0xfff) - 2048) / 700;
}

void lm_make(lm *m, lm_kind kind, unsigned seed) {
  unsigned x = seed * 7919 + 17;
  m->kind = kind;
  for (int t = 0; t < LM_WORDS; t++)
    for (int w = 0; w < LM_WORDS; w++)
      m->last[t][w] = next(&x), m->said[t][w] = next(&x) / 3, m->heard[t][w] = next(&x) / 2;
  for (int i = 0; i < LM_POSITIONS; i++)
    for (int w = 0; w < LM_WORDS; w++) m->position[i][w] = next(&x) / 2;
}

/* ---- text ---- */

#define AXES                                                                                                        \
  "ax0 = Constant <value_ints = [0]> () ax1 = Constant <value_ints = [1]> () ax2 = Constant <value_ints = [2]> () " \
  "axm = Constant <value_ints = [1, 3]> () "
/* SAID of the tokens |ids|, as [N, 1, S, 8] */
#define NEW_STATE(ids) "p = Gather (said, " ids ") n = Unsqueeze (p, ax1) "

static const char gpt[] =
    "decoder = d (int32[N,S] input_ids, int32[N,S] position_ids, int32[N,T] attention_mask, float[2,N,1,P,8] past_0) => "
    "(float[N,S,8] logits, float[2,N,1,T,8] present_0) {" AXES NEW_STATE("input_ids")
    "n5 = Unsqueeze (n, ax0) kv = Concat <axis = 0> (n5, n5) present_0 = Concat <axis = 3> (past_0, kv) "
    "a = Gather (last, input_ids) q = Gather (position, position_ids) f = Cast <to = 1> (attention_mask) "
    "m = Unsqueeze (f, axm) k, v = Split <axis = 0, num_outputs = 2> (present_0) w = Squeeze (v, ax0) "
    "wm = Mul (w, m) s = ReduceSum (wm, ax2) s3 = Squeeze (s, ax1) b = Add (a, q) logits = Add (b, s3) }";

/* The encoder's states hold HEARD of each of its tokens, of Whisper features as they are. */
#define CROSS_T5 "h = Gather (heard, encoder_input_ids) present_key_cross_0 = Unsqueeze (h, ax1) "
#define CROSS_WHISPER "h = Transpose <perm = [0, 2, 1]> (encoder_input_ids) present_key_cross_0 = Unsqueeze (h, ax1) "
#define TWICE "present_value_cross_0 = Identity (present_key_cross_0) "
/* Scores by |ids|, the states |self| and |cross|; |masked|: what the encoder's mask leaves of them */
#define SCORES(ids, self, cross)                                                                         \
  "a = Gather (last, " ids ") s = ReduceSum (" self ", ax2) s3 = Squeeze (s, ax1) c = ReduceSum (" cross \
  ", ax2) "                                                                                              \
  "c3 = Squeeze (c, ax1) b = Add (a, s3) logits = Add (b, c3) "
#define MASKED(cross) "f = Cast <to = 1> (encoder_attention_mask) m = Unsqueeze (f, axm) hm = Mul (" cross ", m) "
#define CROSS_OUT "float[B,1,S,8] present_key_cross_0, float[B,1,S,8] present_value_cross_0"
#define SELF_OUT "float[B,1,Q,8] present_key_self_0, float[B,1,Q,8] present_value_self_0"
#define STATES                                                                                          \
  "float[N,1,P,8] past_key_self_0, float[N,1,P,8] past_value_self_0, float[N,1,S,8] past_key_cross_0, " \
  "float[N,1,S,8] past_value_cross_0) => (float[N,Q,8] logits, float[N,1,T,8] present_key_self_0, "     \
  "float[N,1,T,8] present_value_self_0) {" AXES
#define APPEND \
  "present_key_self_0 = Concat <axis = 2> (past_key_self_0, n) present_value_self_0 = Identity (present_key_self_0) "
#define HIDDEN "encoder_hidden_states = Identity (h) "

static const char t5_encoder_old[] =
    "encoder = e (int32[B,S] encoder_input_ids, int32[B,S] encoder_attention_mask, int32[B,Q] decoder_input_ids) => "
    "(float[B,Q,8] logits, float[B,S,8] encoder_hidden_states, " SELF_OUT ", " CROSS_OUT
    ") {" AXES CROSS_T5 TWICE HIDDEN
        NEW_STATE("decoder_input_ids") "present_key_self_0 = Identity (n) present_value_self_0 = Identity (n) " MASKED(
            "present_key_cross_0") SCORES("decoder_input_ids", "n", "hm") "}";
static const char t5_encoder_new[] =
    "encoder = e (int32[B,S] encoder_input_ids, int32[B,S] encoder_attention_mask) => (" CROSS_OUT
    ") {" AXES CROSS_T5 TWICE "}";
static const char t5_decoder_old[] =
    "decoder = d (int32[N,1] input_ids, int32[N,S] encoder_attention_mask, float[N,S,8] encoder_hidden_states, " STATES
        NEW_STATE("input_ids") APPEND MASKED("past_key_cross_0") SCORES("input_ids", "present_key_self_0", "hm") "}";
static const char t5_decoder_new[] =
    "decoder = d (int32[N,1] input_ids, int32[N,S] encoder_attention_mask, " STATES NEW_STATE("input_ids")
        APPEND MASKED("past_key_cross_0") SCORES("input_ids", "present_key_self_0", "hm") "}";
/* takes all tokens, of which it wants the last; the states are of no use to it */
static const char t5_decoder_whole[] =
    "decoder = d (int32[N,Z] input_ids, int32[N,S] encoder_attention_mask, " STATES NEW_STATE(
        "input_ids") "present_key_self_0 = Identity (n) present_value_self_0 = Identity (n) " MASKED("past_key_cross_0")
        SCORES("input_ids", "n", "hm") "}";
static const char whisper_encoder[] =
    "encoder = e (float[B,8,S] encoder_input_ids, int32[B,Q] decoder_input_ids) => (float[B,Q,8] logits, "
    "float[B,S,8] encoder_hidden_states, " SELF_OUT ", " CROSS_OUT ") {" AXES CROSS_WHISPER TWICE HIDDEN
        NEW_STATE("decoder_input_ids") "present_key_self_0 = Identity (n) present_value_self_0 = Identity (n) " SCORES(
            "decoder_input_ids", "n", "present_key_cross_0") "}";
static const char whisper_decoder[] = "decoder = d (int32[N,1] input_ids, " STATES NEW_STATE("input_ids")
    APPEND SCORES("input_ids", "present_key_self_0", "past_key_cross_0") "}";

char *lm_text(lm_kind kind, const char *op, const char *attrs, const char *declared, const char *inputs,
              const char *declared_out, const char *outputs) {
  static const char *const encoders[LM_KINDS] = {"", t5_encoder_old, t5_encoder_new, t5_encoder_new, whisper_encoder};
  static const char *const decoders[LM_KINDS] = {gpt, t5_decoder_old, t5_decoder_new, t5_decoder_whole,
                                                 whisper_decoder};
  static const char form[] =
      "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> g (%s, float[8,8] last, float[32,8] position, "
      "float[8,8] said, float[8,8] heard) => (%s) { %s = com.microsoft.%s <%s%s%s, %s> (%s) }";
  size_t n = sizeof form + strlen(declared) + strlen(declared_out) + strlen(outputs) + strlen(op) +
             strlen(encoders[kind]) + strlen(decoders[kind]) + strlen(attrs) + strlen(inputs);
  char *text = malloc(n);
  if (text)
    snprintf(text, n, form, declared, declared_out, outputs, op, encoders[kind], *encoders[kind] ? ", " : "",
             decoders[kind], attrs, inputs);
  return text;
}

/* ---- answers ---- */

static bool counts(const lm_context *c, const int32_t *tokens, int64_t i) {
  if (i >= c->n_prompt) return true;
  return c->mask ? c->mask[i] != 0 : tokens[i] != LM_PAD;
}

void lm_scores(const lm *m, const lm_context *c, const int32_t *tokens, int64_t n, double *out) {
  int64_t position = 0;
  for (int64_t i = 0; i + 1 < n; i++) position += i >= c->n_prompt || tokens[i] != LM_PAD;
  if (n <= c->n_prompt && tokens[n - 1] == LM_PAD) position = 0;
  for (int w = 0; w < LM_WORDS; w++) {
    out[w] = (double)m->last[tokens[n - 1]][w];
    if (m->kind == LM_GPT) out[w] += (double)m->position[position][w];
    for (int64_t i = 0; i < n; i++)
      if (m->kind != LM_GPT || counts(c, tokens, i)) out[w] += (double)m->said[tokens[i]][w];
    bool begun = false;
    for (int64_t i = 0; i < c->n_heard; i++) {
      if (c->features) {
        out[w] += (double)c->features[w * c->n_heard + i];
        continue;
      }
      begun = begun || c->heard[i] != LM_PAD;
      if (c->heard_mask ? c->heard_mask[i] != 0 : begun) out[w] += (double)m->heard[c->heard[i]][w];
    }
  }
}
