/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_place.c - where the matrices and terms of one product of a batch lie. */
#include "ops/matmul/product.h"

int64_t ox_product_offset(const ox_product *p, int64_t index, const int64_t *strides) {
  int64_t at = 0;
  for (int d = p->rank - 1; d >= 0; d--) at += index % p->batch[d] * strides[d], index /= p->batch[d];
  return at;
}

int64_t ox_product_matrix(const ox_product *p, int64_t index, const int64_t *strides) {
  int64_t at = 0, step = 1;
  for (int d = p->rank - 1; d >= 0; d--) {
    if (strides[d]) at += index % p->batch[d] * step, step *= p->batch[d];
    index /= p->batch[d];
  }
  return at;
}

void ox_product_terms(const ox_kernel_ctx *c, const ox_product *p, int64_t index, ox_gemm_epi *epi) {
  for (int t = 0; t < 2; t++) {
    if (!p->in_term[t]) continue;
    const ox_tensor *x = c->in[p->in_term[t]];
    int64_t at = ox_product_offset(p, index, p->term_batch[t]) * (int64_t)(ox_dtype_bits(p->type) / 8);
    epi->term[t].p = (const char *)x->data + at, epi->term[t].type = p->type;
  }
}
