/* SPDX-License-Identifier: Apache-2.0
 * device/ops/cast.c - Cast and CastLike between float32, float16, integers and bool. */
#include <string.h>

#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

static bool is_number(uint32_t dtype) {
  return dtype == OX_F32 || dtype == OX_F16 || dtype == OX_BOOL || (dtype >= OX_U8 && dtype <= OX_I64) ||
         dtype == OX_U32 || dtype == OX_U64;
}
_Static_assert(CAST_F32 == (int)OX_F32 && CAST_U8 == (int)OX_U8 && CAST_I8 == (int)OX_I8 && CAST_U16 == (int)OX_U16 &&
                   CAST_I16 == (int)OX_I16 && CAST_I32 == (int)OX_I32 && CAST_I64 == (int)OX_I64 &&
                   CAST_BOOL == (int)OX_BOOL && CAST_F16 == (int)OX_F16 && CAST_U32 == (int)OX_U32 &&
                   CAST_U64 == (int)OX_U64 && OX_I64 - OX_U8 == 5,
               "types of kernels are the engine's");

static uint32_t to_type(const dev_node *n) {
  return strcmp(dev_node_op(n), "Cast") == 0 ? (uint32_t)dev_attr_int(n, "to", 0) : dev_in_dtype(n, 1);
}

static const char *takes(const dev_node *n) {
  uint32_t from = dev_in_dtype(n, 0), to = to_type(n);
  if (!is_number(from) || !is_number(to))
    return REASON("float32, float16, bool and integers of 8 bits or more", "{0}, {to}, {1}");
  bool to_real = to == OX_F32 || to == OX_F16;
  bool from_host = n->lies && n->lies[dev_in(n, 0)] == DEV_WITH_HOST;
  return from_host && to_real ? NULL : dev_takes_data(n, 0, OX_MAX_RANK);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  uint32_t from = dev_dtype(p, dev_in(n, 0)), to = dev_dtype(p, dev_out(n, 0));
  if (from == to) return dev_emit_view(p, dev_out(n, 0), dev_in(n, 0));
  cast_params params = {.n = (int)dev_count(p, dev_in(n, 0)), .from = (int)from, .to = (int)to};
  dev_call c = {.source = "cast",
                .kernel = "cast",
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"Cast", "CastLike", NULL};
DEV_OP(cast) = {"", names, takes, emit};
