/* SPDX-License-Identifier: Apache-2.0
 * ops/word_conv_embedding.c - com.microsoft's WordConvEmbedding: words of character ids become vectors by embeddings of
 * the characters, a convolution along the word, tanh, and the maximum over its positions. */
#include <math.h>

#include "kern/unary/unary.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { WORDS, W, B, TABLE };
typedef struct word_attrs {
  int64_t char_embedding_size, conv_window_size, embedding_size; /* -1: what the weights say */
} word_attrs;
static const ox_attr_def table[] = {OX_ATTR_INT(word_attrs, char_embedding_size, -1),
                                    OX_ATTR_INT(word_attrs, conv_window_size, -1),
                                    OX_ATTR_INT(word_attrs, embedding_size, -1)};

static ox_status *agrees(const char *name, int64_t attr, int64_t weight) {
  if (attr == -1 || weight < 0 || attr == weight) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "WordConvEmbedding: %s is %lld, the weights say %lld", name, (long long)attr,
                 (long long)weight);
}

static ox_status *infer(ox_infer_ctx *c) {
  const word_attrs *a = c->attrs;
  int64_t filters = ox_infer_dim(c, W, 0), width = ox_infer_dim(c, W, 2), size = ox_infer_dim(c, W, 3);
  OX_TRY(ox_infer_shape_is(c, WORDS, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, W, 4, (int64_t[]){-1, 1, -1, -1}));
  OX_TRY(ox_infer_shape_is(c, B, 1, &filters));
  OX_TRY(ox_infer_shape_is(c, TABLE, 2, (int64_t[]){-1, size}));
  OX_TRY(agrees("embedding_size", a->embedding_size, filters));
  OX_TRY(agrees("conv_window_size", a->conv_window_size, width));
  OX_TRY(agrees("char_embedding_size", a->char_embedding_size, size));
  int64_t length = ox_infer_dim(c, WORDS, 1);
  if (width == 0 || (length >= 0 && width > length))
    return ox_fail(OX_SHAPE_MISMATCH, "WordConvEmbedding: a window of %lld does not fit words of %lld",
                   (long long)width, (long long)length);
  ox_shape y = ox_shape_of(2, (int64_t[]){ox_infer_dim(c, WORDS, 0), filters});
  ox_infer_out(c, 0, c->in[W]->dtype, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) { return ox_ctx_plan(c, c->in[WORDS]->shape.dim[0], 0); }

/* The convolution at position |at| of a word, by filter |f|. */
static float convolve(const ox_kernel_ctx *c, const int32_t *word, int64_t f) {
  const int64_t *w = c->in[W]->shape.dim;
  const float *filter = (const float *)c->in[W]->data + f * w[2] * w[3];
  float sum = ((const float *)c->in[B]->data)[f];
  for (int64_t k = 0; k < w[2]; k++) {
    const float *letter = (const float *)c->in[TABLE]->data + (int64_t)word[k] * w[3];
    for (int64_t i = 0; i < w[3]; i++) sum += filter[k * w[3] + i] * letter[i];
  }
  return sum;
}

/* A word ends at the first id that is not above 0; the vector of an empty word is zeros. tanh is monotonic, so the
 * maximum is taken before it. */
static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const int64_t *w = c->in[W]->shape.dim;
  int64_t most = c->in[WORDS]->shape.dim[1], letters = c->in[TABLE]->shape.dim[0];
  for (int64_t r = tiles.begin; r < tiles.end; r++) {
    const int32_t *word = (const int32_t *)c->in[WORDS]->data + r * most;
    float *y = (float *)c->out[0]->data + r * w[0];
    int64_t length = 0;
    for (int64_t i = 0; i < most; i++) {
      if (word[i] < 0 || word[i] >= letters)
        return ox_fail(OX_INVALID_ARGUMENT, "WordConvEmbedding: character %d of word %lld, %lld are known",
                       (int)word[i], (long long)r, (long long)letters);
      length += word[i] > 0;
    }
    bool none = most == 0 || word[0] == 0;
    for (int64_t f = 0; f < w[0]; f++) {
      y[f] = none ? 0 : -INFINITY;
      for (int64_t at = 0; !none && at <= OX_MAX(length, w[2]) - w[2]; at++)
        y[f] = fmaxf(y[f], convolve(c, word + at, f));
    }
    ox_unary_f32_select(c->isa)->fn[OX_UN_TANH](y, y, (size_t)w[0], NULL);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "WordConvEmbedding", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_I32), OX_BIT(OX_F32)}, .vars = ".TTT", .min_in = 4, .max_in = 4, OX_ATTRS(table),
               .attrs_bytes = sizeof(word_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_word_conv_embedding = {ops, OX_COUNT(ops)};
