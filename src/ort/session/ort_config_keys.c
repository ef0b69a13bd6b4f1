/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_config_keys.c - the keys of session entries that the ABI knows. Most ask for something that the
 * engine does anyway or has no use for; any other key is taken, too, and said to be unknown. */
#include "ort/session/ort_config_keys.h"

#include <stdio.h>
#include <string.h>

#include "ort/ort_parse.h"
#include "ort/ort_status.h"

/* Sorted. Entries that are setters are not kept (ort_session_config.c). */
static const char *const keys[] = {
    "ep.context_embed_mode",
    "ep.context_enable",
    "ep.context_file_path",
    "ep.context_model_external_initializers_file_name",
    "ep.context_node_name_prefix",
    "ep.context_source_model_path",
    "ep.enable_weightless",
    "ep.enable_weightless_ep_context_nodes",
    "ep.enable_weightless_mode",
    "ep.nnapi.partitioning_stop_ops",
    "ep.share_ep_contexts",
    "ep.stop_share_ep_contexts",
    "mlas.disable_kleidiai",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
    "mlas.kleidiai.conv_igemm_max_work",
    "mlas.use_lut_gemm",
    "onyx.fall_back",
    "onyx.tune",
    "onyx.tune_cache",
    "optimization.constant_folding_max_output_size_in_bytes",
    "optimization.disable_specified_optimizers",
    "optimization.enable_cast_chain_elimination",
    "optimization.enable_gelu_approximation",
    "optimization.minimal_build_optimizations",
    "session.allow_released_opsets_only",
    "session.collect_node_memory_stats_to_file",
    "session.compile_only",
    "session.debug_layout_transformation",
    "session.disable_aot_function_inlining",
    "session.disable_cpu_ep_fallback",
    "session.disable_double_qdq_remover",
    "session.disable_model_compile",
    "session.disable_prepacking",
    "session.disable_qdq_constant_folding",
    "session.disable_quant_qdq",
    "session.dynamic_block_base",
    "session.enable_dq_matmulnbits_fusion",
    "session.enable_quant_qdq_cleanup",
    "session.external_data_loader.chunk_bytes",
    "session.external_data_loader.min_size_bytes",
    "session.external_data_loader.pinned_memory_bytes",
    "session.external_data_loader.threads",
    "session.fail_on_suboptimal_compiled_model",
    "session.force_spinning_stop",
    "session.graph_optimizations_loop_level",
    "session.inter_op.allow_spinning",
    "session.inter_op.spin_backoff_max",
    "session.inter_op.spin_duration_us",
    "session.intra_op.allow_spinning",
    "session.intra_op.spin_backoff_max",
    "session.intra_op.spin_duration_us",
    "session.intra_op_thread_affinities",
    "session.kernel_dispatch_policy",
    "session.layer_assignment_settings",
    "session.load_model_format",
    "session.model_external_initializers_file_folder_path",
    "session.name_based_layer_assignment",
    "session.node_partition_config_file",
    "session.optimized_model_external_initializers_file_name",
    "session.optimized_model_external_initializers_min_size_in_bytes",
    "session.qdq_matmulnbits_accuracy_level",
    "session.qdq_matmulnbits_block_size",
    "session.qdqisint8allowed",
    "session.record_ep_graph_assignment_info",
    "session.resource_cuda_partitioning_settings",
    "session.save_external_prepacked_constant_initializers",
    "session.save_model_format",
    "session.set_denormal_as_zero",
    "session.strict_shape_type_inference",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
    "session.use_memory_mapped_ort_model",
    "session.use_ort_model_bytes_directly",
    "session.use_ort_model_bytes_for_initializers",
    "session.x64quantprecision",
};

static bool is_known(const char *key) {
  size_t lo = 0, hi = sizeof keys / sizeof *keys;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int order = strcmp(key, keys[mid]);
    if (order == 0) return true;
    if (order < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return strncmp(key, "ep.", 3) == 0 || /* a provider's own */
         strncmp(key, "session.moe.offload.", 20) == 0;
}

/* ---- values that there are not ---- */

/* Entries whose values Microsoft's library checks, though they change nothing here: one of |words|, or a multiple of
 * |step| from |least| to |most|. */
static const struct {
  const char *key, *words;
  long long least, most, step;
} checked[] = {
    {"session.kernel_dispatch_policy", "||auto|latency|memory|safe|", 0, 0, 0},
    {"session.external_data_loader.chunk_bytes", NULL, 4096, 64 << 20, 4096},
    {"session.external_data_loader.min_size_bytes", NULL, 0, 4LL << 30, 1},
    {"session.external_data_loader.pinned_memory_bytes", NULL, 1 << 20, 1 << 30, 8192},
    {"session.external_data_loader.threads", NULL, 0, 64, 1},
};

static bool is_word(const char *words, const char *value) {
  char word[32];
  int n = snprintf(word, sizeof word, "|%s|", value);
  return strchr(value, '|') == NULL && n > 0 && (size_t)n < sizeof word && strstr(words, word) != NULL;
}

static bool is_number(const char *value, long long least, long long most, long long step) {
  long long v;
  return ort_parse_int(value, least, most, &v) && v % step == 0;
}

OrtStatus *ort_config_check(const OrtKeyValuePairs *config) {
  for (size_t i = 0; i < sizeof checked / sizeof *checked; i++) {
    const char *key = checked[i].key, *words = checked[i].words, *value = ort_pairs_get(config, key);
    long long least = checked[i].least, most = checked[i].most, step = checked[i].step;
    if (value == NULL) continue;
    if (words != NULL && !is_word(words, value))
      return ort_fail(ORT_INVALID_ARGUMENT, "CreateSession: '%s' is '%.64s', wanted one of %s", key, value, words + 1);
    if (words == NULL && !is_number(value, least, most, step))
      return ort_fail(ORT_INVALID_ARGUMENT, "CreateSession: '%s' is '%.64s', wanted %lld to %lld, a multiple of %lld",
                      key, value, least, most, step);
  }
  return NULL;
}

void ort_config_log_unknown(const OrtKeyValuePairs *config, const OrtLogger *logger) {
  for (size_t i = 0; i < config->n; i++)
    if (!is_known(config->keys[i]))
      ort_log(logger, ORT_LOGGING_LEVEL_INFO, "onnxruntime", "CreateSession",
              "the session's entry '%s' is not known and changes nothing", config->keys[i]);
}
