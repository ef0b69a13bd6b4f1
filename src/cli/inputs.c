/* SPDX-License-Identifier: Apache-2.0
 * cli/inputs.c - see inputs.h. Random numbers are uniform in [-1, 1) for floats, small and not negative for integers.
 */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

ox_status *cli_inputs_init(const ox_session *s, cli_inputs *out) {
  size_t n = ox_session_input_count(s);
  *out = (cli_inputs){calloc(n + 1, sizeof *out->names), calloc(n + 1, sizeof *out->values), 0, n};
  return out->names && out->values ? NULL : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
}

ox_status *cli_inputs_from_set(ox_env *env, const ox_session *s, const char *set, cli_inputs *out) {
  char path[4096], why[1024];
  for (; out->n < out->most; out->n++) {
    ox_value_info info;
    ox_status *st = ox_session_input(s, out->n, &info);
    if (st) return st;
    snprintf(path, sizeof path, "%s/input_%zu.pb", set, out->n);
    if (!cli_load_value(env, path, &info, &out->values[out->n], why, sizeof why)) return ox_task_error(OX_FAIL, why);
    out->names[out->n] = info.name;
  }
  return NULL;
}

static uint64_t next(uint64_t *state) { /* SplitMix64 (Steele, Lea, Flood 2014) */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void fill(const ox_tensor *t, uint64_t *state) {
  int64_t n = ox_tensor_count(t);
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = next(state);
    double unit = (double)(r >> 11) * 0x1p-53;
    switch (t->dtype) {
      case OX_F32:
        ((float *)t->data)[i] = (float)(2 * unit - 1);
        break;
      case OX_F64:
        ((double *)t->data)[i] = 2 * unit - 1;
        break;
      case OX_F16:
        ((uint16_t *)t->data)[i] = (uint16_t)((r & 0x83ff) | (0x3000 + (r >> 16 & 0x800)));
        break;
      case OX_BF16:
        ((uint16_t *)t->data)[i] = (uint16_t)((r & 0x807f) | 0x3f00);
        break;
      case OX_I64:
        ((int64_t *)t->data)[i] = (int64_t)(r >> 32 & 7);
        break;
      case OX_I32:
        ((int32_t *)t->data)[i] = (int32_t)(r >> 32 & 7);
        break;
      case OX_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)(r >> 40);
        break;
      case OX_I8:
        ((int8_t *)t->data)[i] = (int8_t)(r >> 40);
        break;
      case OX_BOOL:
        ((uint8_t *)t->data)[i] = r >> 40 & 1;
        break;
      default:
        return; /* zeros */
    }
  }
}

static int64_t dim_of(const ox_value_info *info, int d, const cli_dims *dims) {
  if (info->dims[d] >= 0) return info->dims[d];
  const char *name = info->dim_names[d];
  for (size_t i = 0; name && i < dims->n; i++)
    if (strcmp(dims->names[i], name) == 0) return dims->sizes[i];
  return 1;
}

bool cli_inputs_have(const cli_inputs *in, const char *name) {
  for (size_t i = 0; i < in->n; i++)
    if (strcmp(in->names[i], name) == 0) return true;
  return false;
}

ox_status *cli_inputs_random(ox_env *env, const ox_session *s, unsigned seed, const cli_dims *dims, cli_inputs *out) {
  uint64_t state = seed;
  const cli_inputs given = *out; /* the session's own have names of their own */
  for (size_t i = 0; i < out->most; i++) {
    ox_value_info info;
    ox_status *st = ox_session_input(s, i, &info);
    if (st) return st;
    if (cli_inputs_have(&given, info.name)) continue;
    if (info.kind != OX_TENSOR || info.rank < 0) {
      char why[512];
      snprintf(why, sizeof why, "input '%s' is no tensor of known rank: give it as a file", info.name);
      return ox_task_error(OX_INVALID_ARGUMENT, why);
    }
    int64_t shape[OX_MAX_RANK];
    for (int d = 0; d < info.rank; d++) shape[d] = dim_of(&info, d, dims);
    st = ox_value_create(env, info.dtype, shape, (size_t)info.rank, &out->values[out->n]);
    if (st) return st;
    fill(ox_value_get(out->values[out->n]), &state);
    out->names[out->n++] = info.name;
  }
  return NULL;
}

void cli_inputs_release(cli_inputs *in) {
  for (size_t i = 0; i < in->n; i++) ox_value_release(in->values[i]);
  free(in->names);
  free(in->values);
}
