/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_choice.c - options, which are those of ONNX Runtime's CUDA provider, and the device's properties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/cuda/cuda.h"

#define NO_EFFECT "taken for ONNX Runtime's sake, without effect"

const ox_option_def cuda_options[CUDA_OPTIONS] = {
    {"device_id", OX_OPTION_INT, NULL, "0", "which device"},
    {"user_compute_stream", OX_OPTION_STRING, NULL, "0", "a stream (its address) that all work is put on; 0: our own"},
    {"has_user_compute_stream", OX_OPTION_BOOL, NULL, "0", "without effect: user_compute_stream says it"},
    {"use_tf32", OX_OPTION_BOOL, NULL, "0", "products of float32 with 10 bits of mantissa, faster on newer devices"},
    {"cudnn_conv_algo_search", OX_OPTION_STRING, "EXHAUSTIVE|HEURISTIC|DEFAULT", "EXHAUSTIVE",
     "how cuDNN's algorithm is chosen: by timing, by its rules, the one that needs least"},
    {"cudnn_conv_use_max_workspace", OX_OPTION_BOOL, NULL, "1", "algorithms may use up to 512 MiB; 0: 32 MiB"},
    {"do_copy_in_default_stream", OX_OPTION_BOOL, NULL, "1", "without effect: copies are always in the run's stream"},
    {"cudnn_conv1d_pad_to_nc1d", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"prefer_nhwc", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"use_ep_level_unified_stream", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"fuse_conv_bias", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"sdpa_kernel", OX_OPTION_INT, NULL, "0", NO_EFFECT},
    {"enable_skip_layer_norm_strict_mode", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"tunable_op_enable", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"tunable_op_tuning_enable", OX_OPTION_BOOL, NULL, "0", NO_EFFECT},
    {"tunable_op_max_tuning_duration_ms", OX_OPTION_INT, NULL, "0", NO_EFFECT},
};

static const char *option(const ox_options *o, const char *key, const char *otherwise) {
  for (uint32_t i = 0; o && i < o->n; i++)
    if (strcmp(o->keys[i], key) == 0) return o->values[i];
  return otherwise;
}

static bool is_on(const ox_options *o, const char *key, const char *otherwise) {
  const char *value = option(o, key, otherwise);
  return strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

ox_status *cuda_choose(const ox_ep_host *host, const ox_options *options, cuda_choice *out) {
  const char *stream = option(options, "user_compute_stream", "0"), *end;
  const char *search = option(options, "cudnn_conv_algo_search", "EXHAUSTIVE");
  uintptr_t address = (uintptr_t)strtoull(stream, (char **)&end, 0);
  if (end == stream || *end)
    return dev_fail(host, OX_INVALID_ARGUMENT, "CUDA: user_compute_stream \"%s\" is no address", stream);
  *out = (cuda_choice){.stream = (cu_stream)address,
                       .tf32 = is_on(options, "use_tf32", "0"),
                       .max_workspace = is_on(options, "cudnn_conv_use_max_workspace", "1"),
                       .search = strcmp(search, "HEURISTIC") == 0 ? CUDA_SEARCH_HEURISTIC
                                 : strcmp(search, "DEFAULT") == 0 ? CUDA_SEARCH_DEFAULT
                                                                  : CUDA_SEARCH_EXHAUSTIVE};
  long id = strtol(option(options, "device_id", "0"), NULL, 10);
  out->device_id = id < 0 || id > 1 << 20 ? -1 : (int)id;
  return NULL;
}

static ox_status *find(dev_device *d) {
  int n = 0;
  CU_TRY(d, cuInit, 0);
  CU_TRY(d, cuDriverGetVersion, &d->driver);
  CU_TRY(d, cuDeviceGetCount, &n);
  if (d->choice.device_id < 0 || d->choice.device_id >= n)
    return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: device_id %d: there are %d devices", d->choice.device_id, n);
  CU_TRY(d, cuDeviceGet, &d->id, d->choice.device_id);
  return NULL;
}

ox_status *cuda_describe(dev_device *d) {
  ox_status *st = find(d);
  int major = 0, minor = 0, items = 0, shared = 0, units = 0;
  dev_info *i = &d->info;
  if (st) return st;
  CU_TRY(d, cuDeviceGetName, i->name, (int)sizeof i->name, d->id);
  CU_TRY(d, cuDeviceTotalMem_v2, &i->memory_bytes, d->id);
  CU_TRY(d, cuDeviceGetAttribute, &major, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->id);
  CU_TRY(d, cuDeviceGetAttribute, &minor, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->id);
  CU_TRY(d, cuDeviceGetAttribute, &items, CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK, d->id);
  CU_TRY(d, cuDeviceGetAttribute, &shared, CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, d->id);
  CU_TRY(d, cuDeviceGetAttribute, &units, CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->id);
  if (items < 256 || shared < 32768)
    return dev_fail(&d->host, OX_NOT_IMPLEMENTED,
                    "CUDA: %s: groups have at most %d items and %d bytes, 256 and 32768 are needed", i->name, items,
                    shared);
  d->sm = major * 10 + minor;
  snprintf(i->key, sizeof i->key, "cuda;sm_%d;driver %d;1", d->sm, d->driver); /* 1: version of the compiler flags */
  i->n_units = units > 0 ? (uint32_t)units : 1;
  i->max_items = (uint32_t)items;
  i->local_bytes = (size_t)shared;
  i->align = 256;
  if (!d->choice.stream) i->space = (uint64_t)d->id + 1; /* a user's stream may have another context */
  return NULL;
}
