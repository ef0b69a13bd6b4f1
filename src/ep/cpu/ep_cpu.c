/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/ep_cpu.c - the CPU provider: the kernels of src/ops, through ep.h like anyone's. */
#include <pthread.h>
#include <string.h>

#include "base/cpu_kind.h"
#include "base/macros.h"
#include "ep/cpu/cpu_rules.h"
#include "ep/cpu/ep_cpu.h"
#include "ep/rows/rows_ep.h"
#include "ops/builtin.h"

#define OX_ISA_ROW(bit, number, name, implied) "|" name
static const ox_option_def options[] = {
    {"isa", OX_OPTION_STRING, "scalar"
#include "base/isa.inc"
     ,
     "all that the processor has", "the most that kernels may use"},
    {"winograd", OX_OPTION_BOOL, NULL, "true",
     "convolutions may round like Winograd's, a few times more than plain sums"},
    {"strassen", OX_OPTION_BOOL, NULL, "true",
     "matrix products may round like Strassen's, a few times more than plain sums"},
    {"precision", OX_OPTION_STRING, "f32|tf32|bf16", "f32",
     "of factors in products of float32; coarser is faster on AMX, elsewhere the same"},
    {"tune_cache", OX_OPTION_STRING, NULL, "none", "a file of what was measured (docs/tuning.md)"},
    {"tune", OX_OPTION_STRING, "never|first_run", "never", "first_run: measures what is not known yet"}};
#undef OX_ISA_ROW

static const char *option(const ox_options *opts, const char *key, const char *otherwise) {
  for (uint32_t i = 0; opts && i < opts->n; i++)
    if (strcmp(opts->keys[i], key) == 0) otherwise = opts->values[i];
  return otherwise;
}

static bool is_off(const ox_options *opts, const char *key) {
  char first = *option(opts, key, "1");
  return first == '0' || first == 'f';
}

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ox_isa isa = ox_isa_cap(ox_isa_allowed(), option(opts, "isa", ""));
  const char *precision = option(opts, "precision", "f32"), *cache = option(opts, "tune_cache", "");
  if (isa & OX_AVX512) isa |= ox_cpu_kind();
  if (*precision == 't') isa |= OX_PRECISION_TF32;
  if (*precision == 'b') isa |= OX_PRECISION_BF16;
  if (is_off(opts, "strassen")) isa |= OX_PLAIN_SUMS;
  bool measures = strcmp(option(opts, "tune", "never"), "first_run") == 0;
  const ox_registry *ops = ox_ops_cpu();
  *out_ep = NULL;
  ox_status *st = ops ? ox_rows_ep_create(host, ops, NULL, isa, out_ep) : ox_oom();
  if (!st) ox_rows_ep_set_exact(*out_ep, is_off(opts, "winograd"));
  if (!st && (*cache || measures)) st = ox_rows_ep_tune(*out_ep, *cache ? cache : NULL, measures);
  if (st) ox_rows_ep_destroy(*out_ep), *out_ep = NULL;
  return ox_ep_pass_status(host, st);
}

static ox_ep_api api = {.struct_size = sizeof(ox_ep_api),
                        .abi_major = OX_EP_ABI_MAJOR,
                        .name = "cpu",
                        .create = create,
                        .destroy = ox_rows_ep_destroy,
                        .claim = ox_rows_ep_claim,
                        .kernel_create = ox_rows_ep_kernel_create,
                        .options = options,
                        .n_options = OX_COUNT(options),
                        .rule_sets = ox_cpu_rule_sets,
                        .n_rule_sets = OX_N_CPU_RULE_SETS};

/* The operators that only its rules make. */
enum { MOST_OWN_OPS = 32 };
static ox_op own_ops[MOST_OWN_OPS];
static pthread_once_t listed = PTHREAD_ONCE_INIT;

static void list_own_ops(void) {
  size_t n = 0;
  const ox_registry *ops = ox_ops_cpu();
  const ox_op *const *rows = ops ? ox_registry_all(ops, &n) : NULL;
  for (api.n_ops = 0; api.n_ops < OX_MIN(n, MOST_OWN_OPS); api.n_ops++) own_ops[api.n_ops] = *rows[api.n_ops];
  api.ops = own_ops;
}

const ox_ep_api *ox_ep_cpu(void) {
  pthread_once(&listed, list_own_ops);
  return &api;
}
