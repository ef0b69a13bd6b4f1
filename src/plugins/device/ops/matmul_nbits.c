/* SPDX-License-Identifier: Apache-2.0
 * device/ops/matmul_nbits.c - com.microsoft's MatMulNBits with 4-bit weights: for few rows the kernel reads them
 * packed, for many rows they are unpacked to floats first. */
#include <limits.h>
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/quant_params.h"

enum { FEW_ROWS = 16 };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static const char *takes(const dev_node *n) {
  uint32_t real = dev_in_dtype(n, 0);
  int64_t block = dev_attr_int(n, "block_size", 32);
  if (real != OX_F32 && real != OX_F16) return REASON("float32 or float16", "{0}");
  if (dev_attr_int(n, "bits", 4) != 4) return REASON("4 bits", "{bits=4}");
  if (block < 16 || (block & (block - 1))) return REASON("blocks of 16 or a higher power of two", "{block_size}");
  if (dev_in_dtype(n, 1) != OX_U8 || dev_in_dtype(n, 2) != real)
    return REASON("weights of uint8 with scales of the input's type", "{0}, {1}, {2}");
  if (has_in(n, 3) && dev_in_dtype(n, 3) != OX_U8) return REASON("zero points of uint8", "{3}");
  if (has_in(n, 4)) return REASON("columns in order", "{4}");
  if (has_in(n, 5) && dev_in_dtype(n, 5) != real) return REASON("a bias of the input's type", "{0}, {5}");
  return dev_in_rank(n, 0) < 1 ? REASON("a known rank of 1 or more", "{0}") : NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  int64_t k = dev_attr_int(n, "K", 0), columns = dev_attr_int(n, "N", 0), block = dev_attr_int(n, "block_size", 32);
  int64_t count = dev_count(p, dev_in(n, 0)), blocks = (k + block - 1) / block;
  if (k < 1 || columns < 1 || count % k || columns * blocks > INT_MAX / block)
    return dev_refuse(p, "sizes that do not fit");
  if (dev_count(p, dev_in(n, 1)) != columns * blocks * block / 2 || dev_count(p, dev_in(n, 2)) != columns * blocks)
    return dev_refuse(p, "weights or scales of another size");
  if (has_in(n, 3) && dev_count(p, dev_in(n, 3)) != columns * ((blocks + 1) / 2))
    return dev_refuse(p, "zero points of another size");
  nbits_params params = {.m = (int)(count / k),
                         .n = (int)columns,
                         .k = (int)k,
                         .block = (int)block,
                         .blocks = (int)blocks,
                         .zero = has_in(n, 3),
                         .has_bias = has_in(n, 5)};
  dev_ref a = dev_value(p, dev_in(n, 0)), b = dev_value(p, dev_in(n, 1)), scales = dev_value(p, dev_in(n, 2)),
          zeros = dev_value(p, has_in(n, 3) ? dev_in(n, 3) : UINT32_MAX),
          bias = dev_value(p, has_in(n, 5) ? dev_in(n, 5) : UINT32_MAX), y = dev_value(p, dev_out(n, 0));
  if (params.m == 0) return NULL;
  if (params.m <= FEW_ROWS) {
    dev_call c = {.source = "nbits",
                  .kernel = "nbits_rows",
                  .dtype = dtype,
                  .items = 256,
                  .n_buffers = 6,
                  .groups = {dev_groups(columns, 8), dev_groups(params.m, 8)},
                  .buffers = {a, b, scales, zeros, bias, y},
                  .written = 1u << 5,
                  DEV_PARAMS(params)};
    return dev_emit(p, &c);
  }
  dev_ref plain = dev_temp(p, (size_t)(columns * k) * (dtype == OX_F16 ? 2 : 4));
  dev_call unpack = {.source = "nbits",
                     .kernel = "nbits_unpack",
                     .dtype = dtype,
                     .n_buffers = 4,
                     .buffers = {b, scales, zeros, plain},
                     .written = 1u << 3,
                     DEV_PARAMS(params)};
  DEV_TRY(dev_emit_items(p, &unpack, columns * ((k + 7) / 8)));
  dev_tail first = dev_tail_none(UINT32_MAX);
  if (has_in(n, 5)) dev_tail_operand(&first, TAIL_ADD, bias, 1, columns);
  dev_product x;
  memset(&x, 0, sizeof x);
  for (int i = 0; i < GEMM_BATCHES; i++) x.g.batch[i] = 1;
  x.g.m = params.m, x.g.n = params.n, x.g.k = params.k;
  x.g.a_row = params.k, x.g.a_col = 1, x.g.b_row = 1, x.g.b_col = params.k;
  x.dtype = dtype, x.a = a, x.b = plain, x.c = y, x.first = &first;
  return dev_emit_product(p, &x);
}

static const char *const names[] = {"MatMulNBits", NULL};
DEV_OP(matmul_nbits) = {"com.microsoft", names, takes, emit};
