/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_md.c - the library's memory descriptors. */
#include <string.h>

#include "od_build.h"

dnnl_data_type_t od_type(uint32_t dtype) {
  switch (dtype) {
    case OX_F32:
      return dnnl_f32;
    case OX_BF16:
      return dnnl_bf16;
    case OX_I32:
      return dnnl_s32;
    case OX_I8:
      return dnnl_s8;
    case OX_U8:
      return dnnl_u8;
    default:
      return dnnl_data_type_undef;
  }
}

size_t od_type_bytes(uint32_t dtype) { return dtype == OX_F32 || dtype == OX_I32 ? 4 : dtype == OX_BF16 ? 2 : 1; }

int64_t od_count(const ox_shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++)
    if (!s->dim[i]) return 0;
  for (int i = 0; i < s->rank; i++)
    if (__builtin_mul_overflow(n, s->dim[i], &n)) return INT64_MAX;
  return n;
}

static void copy(dnnl_dims_t to, const int64_t *from, int n) { /* the library's arrays have a fixed length */
  memset(to, 0, sizeof(dnnl_dims_t));
  memcpy(to, from, (size_t)n * sizeof *from);
}

dnnl_memory_desc_t od_md_strided(int rank, const int64_t *dims, const int64_t *strides, dnnl_data_type_t type) {
  dnnl_memory_desc_t md = {0};
  dnnl_dims_t d, s;
  copy(d, dims, rank), copy(s, strides, rank);
  dnnl_memory_desc_init_by_strides(&md, rank, d, type, s); /* on failure |md| stays empty, which primitives refuse */
  return md;
}

dnnl_memory_desc_t od_md_plain(int rank, const int64_t *dims, dnnl_data_type_t type) {
  static const int64_t one = 1;
  int64_t strides[DNNL_MAX_NDIMS], step = 1;
  if (rank == 0) return od_md_strided(1, &one, &one, type);
  for (int i = rank - 1; i >= 0; i--) strides[i] = step, step *= OD_MAX(dims[i], 1);
  return od_md_strided(rank, dims, strides, type);
}

dnnl_memory_desc_t od_md_any(int rank, const int64_t *dims, dnnl_data_type_t type) {
  dnnl_memory_desc_t md = {0};
  dnnl_dims_t d;
  copy(d, dims, rank);
  dnnl_memory_desc_init_by_tag(&md, rank, d, type, dnnl_format_tag_any);
  return md;
}

dnnl_memory_desc_t od_md_of(const od_value *v) { return od_md_plain(v->shape.rank, v->shape.dim, od_type(v->dtype)); }

const dnnl_memory_desc_t *od_md(const od_builder *b, uint32_t mem) { return &b->plan->mems[mem].md; }

bool od_md_is_plain(const dnnl_memory_desc_t *md) {
  dnnl_memory_desc_t plain = od_md_plain(md->ndims, md->dims, md->data_type);
  return dnnl_memory_desc_equal(md, &plain);
}

bool od_md_is_dense(const dnnl_memory_desc_t *md) {
  int64_t n = 1;
  for (int i = 0; i < md->ndims; i++) {
    if (md->padded_dims[i] != md->dims[i]) return false;
    n *= md->dims[i];
  }
  size_t bytes = md->data_type == dnnl_f32 || md->data_type == dnnl_s32 ? 4 : md->data_type == dnnl_bf16 ? 2 : 1;
  return md->offset0 == 0 && md->extra.flags == dnnl_memory_extra_flag_none &&
         dnnl_memory_desc_get_size(md) == (size_t)n * bytes;
}

dnnl_memory_desc_t od_md_wanted(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index) {
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, index);
  return md ? *md : (dnnl_memory_desc_t){0};
}
