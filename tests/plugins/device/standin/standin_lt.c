/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_lt.c - in the place of cuBLASLt: products column by column. */
#include <stdlib.h>
#include <string.h>

#include "plugins/cuda/cuda_libraries.h"
#include "plugins/device/standin/standin.h"

#define FUNCTION_ROW(name, parameters) STANDIN_API int name parameters;
LT_FUNCTIONS(FUNCTION_ROW)
float dev_from_half(unsigned short h);
unsigned short dev_to_half(float f);

struct cublasLtContext {
  int unused;
};

/* Any of the descriptors. */
struct lt_opaque {
  int type, trans[2], epilogue;
  cu_address bias;
  int64_t rows, columns, leading, batch, offset;
};

enum { LT_NOT_SUPPORTED = 15, WORKSPACE = 4096 };

static int make(lt_object *out) { return standin_make((void **)out, sizeof **out); }

int cublasLtCreate(lt_handle *handle) {
  int code = standin_gate(true);
  if (code) return code;
  *handle = malloc(sizeof **handle);
  standin_made(1);
  return OK;
}
int cublasLtDestroy(lt_handle handle) { return standin_drop(handle); }
int cublasLtMatmulDescCreate(lt_object *desc, int compute, int scale) {
  bool known = (compute == LT_COMPUTE_32F || compute == LT_COMPUTE_32F_TF32) && scale == LT_R_32F;
  return known ? make(desc) : LT_NOT_SUPPORTED;
}
int cublasLtMatmulDescDestroy(lt_object desc) { return standin_drop(desc); }
int cublasLtMatmulDescSetAttribute(lt_object desc, int attribute, const void *value, size_t bytes) {
  int code = standin_gate(false);
  if (code) return code;
  if ((attribute == LT_DESC_TRANS_A || attribute == LT_DESC_TRANS_B) && bytes == 4)
    memcpy(&desc->trans[attribute - LT_DESC_TRANS_A], value, 4);
  else if (attribute == LT_DESC_EPILOGUE && bytes == 4 && *(const int32_t *)value == LT_EPILOGUE_BIAS)
    desc->epilogue = LT_EPILOGUE_BIAS;
  else if (attribute == LT_DESC_BIAS && bytes == sizeof desc->bias)
    memcpy(&desc->bias, value, bytes);
  else
    return INVALID_VALUE;
  return OK;
}
int cublasLtMatrixLayoutCreate(lt_object *layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  int code = make(layout);
  if (!code)
    **layout = (struct lt_opaque){
        .type = type, .rows = (int64_t)rows, .columns = (int64_t)columns, .leading = leading, .batch = 1};
  return code;
}
int cublasLtMatrixLayoutDestroy(lt_object layout) { return standin_drop(layout); }
int cublasLtMatrixLayoutSetAttribute(lt_object layout, int attribute, const void *value, size_t bytes) {
  int code = standin_gate(false);
  if (code) return code;
  if (attribute == LT_LAYOUT_BATCH_COUNT && bytes == 4)
    layout->batch = *(const int32_t *)value;
  else if (attribute == LT_LAYOUT_BATCH_OFFSET && bytes == 8)
    layout->offset = *(const int64_t *)value;
  else
    return INVALID_VALUE;
  return OK;
}
int cublasLtMatmulPreferenceCreate(lt_object *preference) { return make(preference); }
int cublasLtMatmulPreferenceDestroy(lt_object preference) { return standin_drop(preference); }
int cublasLtMatmulPreferenceSetAttribute(lt_object preference, int attribute, const void *value, size_t bytes) {
  int code = standin_gate(false);
  bool known = attribute == LT_PREFERENCE_WORKSPACE
                   ? bytes == 8
                   : attribute >= LT_PREFERENCE_ALIGNMENT && attribute < LT_PREFERENCE_ALIGNMENT + 4 && bytes == 4;
  if (!code && attribute == LT_PREFERENCE_ALIGNMENT) preference->type = *(const int32_t *)value;
  return code ? code : known ? OK : INVALID_VALUE;
}

typedef struct product {
  struct matrix {
    int type;
    int64_t rows, columns, leading, batch, offset;
  } a, b, d;
  bool trans_a, trans_b;
  cu_address at_a, at_b, at_c, at_d, at_bias; /* c, bias: 0 if nothing is added */
  int64_t k;
} product;
_Static_assert(sizeof(product) <= sizeof((standin_op){0}.arg), "it travels in an op");

static bool fits(const product *p) {
  int64_t m = p->trans_a ? p->a.columns : p->a.rows, n = p->trans_b ? p->b.rows : p->b.columns;
  return m == p->d.rows && n == p->d.columns && p->k == (p->trans_b ? p->b.columns : p->b.rows) &&
         p->a.batch == p->d.batch && p->b.batch == p->d.batch && p->a.type == p->d.type && p->b.type == p->d.type &&
         p->a.leading >= p->a.rows && p->b.leading >= p->b.rows && p->d.leading >= p->d.rows;
}

static struct matrix matrix_of(const struct lt_opaque *l) {
  return (struct matrix){l->type, l->rows, l->columns, l->leading, l->batch, l->offset};
}

static product product_of(lt_object desc, lt_object a, lt_object b, lt_object d) {
  return (product){.a = matrix_of(a),
                   .b = matrix_of(b),
                   .d = matrix_of(d),
                   .trans_a = desc->trans[0],
                   .trans_b = desc->trans[1],
                   .k = desc->trans[0] ? a->rows : a->columns};
}

int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_object desc, lt_object a, lt_object b, lt_object c, lt_object d,
                                   lt_object preference, int n, lt_heuristic *out, int *out_n) {
  (void)handle, (void)c;
  int code = standin_gate(true);
  product p = product_of(desc, a, b, d);
  *out_n = 0;
  if (code || n < 1) return code ? code : INVALID_VALUE;
  if (!fits(&p)) return LT_NOT_SUPPORTED;
  *out = (lt_heuristic){.algo = {0x17, (uint64_t)preference->type}, .workspace_bytes = WORKSPACE};
  *out_n = 1;
  return OK;
}

static float load(const char *p, int64_t i, int type) {
  return type == LT_R_16F ? dev_from_half(((const unsigned short *)(const void *)p)[i])
                          : ((const float *)(const void *)p)[i];
}

static int multiply(void *arg) {
  const product *p = arg;
  const char *a = standin_begin(p->at_a), *b = standin_begin(p->at_b);
  const char *c = p->at_c ? standin_begin(p->at_c) : NULL, *bias = p->at_bias ? standin_begin(p->at_bias) : NULL;
  char *d = standin_begin(p->at_d);
  if (!a || !b || !d || (p->at_c && !c) || (p->at_bias && !bias)) return ILLEGAL_ADDRESS;
  if (standin_is_idle()) return OK;
  for (int64_t batch = 0; batch < p->d.batch; batch++)
    for (int64_t j = 0; j < p->d.columns; j++)
      for (int64_t i = 0; i < p->d.rows; i++) {
        float sum = 0;
        int64_t at = batch * p->d.offset + j * p->d.leading + i;
        for (int64_t k = 0; k < p->k; k++)
          sum += load(a, batch * p->a.offset + (p->trans_a ? i * p->a.leading + k : k * p->a.leading + i), p->a.type) *
                 load(b, batch * p->b.offset + (p->trans_b ? k * p->b.leading + j : j * p->b.leading + k), p->b.type);
        if (c) sum += load(c, at, p->d.type);
        if (bias) sum += load(bias, i, p->d.type);
        if (p->d.type == LT_R_16F)
          ((unsigned short *)(void *)d)[at] = dev_to_half(sum);
        else
          ((float *)(void *)d)[at] = sum;
      }
  return OK;
}

int cublasLtMatmul(lt_handle handle, lt_object desc, const void *alpha, const void *a, lt_object layout_a,
                   const void *b, lt_object layout_b, const void *beta, const void *c, lt_object layout_c, void *d,
                   lt_object layout_d, const void *algo, void *workspace, size_t workspace_bytes, cu_stream stream) {
  (void)handle, (void)layout_c;
  int code = standin_gate(true);
  product p = product_of(desc, layout_a, layout_b, layout_d);
  if (code) return code;
  uint64_t alignment = ((const uint64_t *)algo)[1];
  if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % alignment) return INVALID_VALUE;
  const float scale = *(const float *)beta;
  const bool has_bias = desc->epilogue == LT_EPILOGUE_BIAS;
  if (*(const float *)alpha != 1 || (scale != 0 && scale != 1) || (scale == 0 && c != d) || (has_bias && !desc->bias) ||
      *(const uint64_t *)algo != 0x17 || workspace_bytes < WORKSPACE ||
      !standin_at((cu_address)(uintptr_t)workspace, workspace_bytes) || !fits(&p))
    return INVALID_VALUE;
  p.at_a = (cu_address)(uintptr_t)a, p.at_b = (cu_address)(uintptr_t)b, p.at_d = (cu_address)(uintptr_t)d;
  p.at_c = scale != 0 ? (cu_address)(uintptr_t)c : 0, p.at_bias = has_bias ? desc->bias : 0;
  standin_op op = {.kind = OP_CALL, .call = multiply};
  memcpy(op.arg, &p, sizeof p);
  return standin_put(stream, &op);
}
