/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_shares.c - see od_shares.h: the number of shares, and primitives made for it. */
#include "od_shares.h"

#include <string.h>

enum { SHARES = 16 }; /* of convolutions, among all threads that there are */

static dnnl_primitive_kind_t kind_of(const_dnnl_primitive_desc_t pd) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
  return kind;
}

/* Do the threads of this primitive wait for each other? True for implementations on the library's GEMM ("gemm", but not
 * "brgemm"), for RNNs, which call either, and for BatchNormalization, which has barriers between blocks of channels -
 * except its TBB variant, which has none and relies on as many members as there were threads at its creation. */
bool od_waits(const_dnnl_primitive_desc_t pd) {
  dnnl_primitive_kind_t kind = kind_of(pd);
  const char *impl = od_impl_of(pd);
  const char *gemm = strstr(impl, "gemm");
  if (kind == dnnl_batch_normalization) return !strstr(impl, "tbb");
  return kind == dnnl_rnn || (gemm && (gemm < impl + 2 || strncmp(gemm - 2, "br", 2) != 0));
}

/* With AVX-512 no such bits have been seen, and most products are not on GEMM. */
static bool bits_tell_shares(void) {
#if defined(__x86_64__)
  unsigned avx512 = dnnl_cpu_isa_avx512_core;
  return ((unsigned)dnnl_get_effective_cpu_isa() & avx512) != avx512;
#else
  return false;
#endif
}

bool od_is_fixed(const_dnnl_primitive_desc_t pd) {
  return bits_tell_shares() && kind_of(pd) != dnnl_batch_normalization && od_waits(pd);
}

static od_crew crew_of(const_dnnl_primitive_desc_t pd) {
  bool opens_regions = kind_of(pd) == dnnl_convolution || kind_of(pd) == dnnl_deconvolution;
  return (od_crew){.threads = opens_regions ? SHARES : 1, .alone = 1};
}

dnnl_status_t od_primitive_desc_create(dnnl_primitive_desc_t *out_pd, const_dnnl_op_desc_t desc,
                                       const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
  dnnl_status_t s = dnnl_primitive_desc_create(out_pd, desc, attr, engine, NULL);
  if (s != dnnl_success || !od_is_fixed(*out_pd)) return s;
  od_crew crew = crew_of(*out_pd);
  dnnl_primitive_desc_destroy(*out_pd);
  od_seat before = od_crew_enter(&crew);
  s = dnnl_primitive_desc_create(out_pd, desc, attr, engine, NULL);
  od_crew_leave(before);
  return s;
}

/* The library finds primitives that it has made by their description and the number of threads. */
dnnl_status_t od_primitive_create(dnnl_primitive_t *out_prim, const_dnnl_primitive_desc_t pd) {
  if (!od_is_fixed(pd)) return dnnl_primitive_create(out_prim, pd);
  od_crew crew = crew_of(pd);
  od_seat before = od_crew_enter(&crew);
  dnnl_status_t s = dnnl_primitive_create(out_prim, pd);
  od_crew_leave(before);
  return s;
}
