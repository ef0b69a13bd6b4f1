/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_bench.c - onyx bench: load, first run, then runs for some seconds. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "inputs.h"

typedef struct {
  double load_ms, first_ms;
  double *times;
  size_t n, capacity;
  size_t workspace;
} bench_times;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double at(const bench_times *b, double part) {
  return b->n ? b->times[(size_t)(part * (double)(b->n - 1) + 0.5)] : 0;
}

static bool keep(bench_times *b, double ms) {
  if (b->n == b->capacity) {
    size_t capacity = b->capacity ? b->capacity * 2 : 1024;
    double *grown = realloc(b->times, capacity * sizeof *grown);
    if (!grown) return false;
    b->times = grown, b->capacity = capacity;
  }
  b->times[b->n++] = ms;
  return true;
}

static ox_status *one_run(ox_session *s, cli_inputs *in, double *out_ms) {
  ox_value *out[CLI_MOST] = {0};
  size_t n = ox_session_output_count(s);
  double start = cli_now_ms();
  ox_status *st = ox_session_run(s, NULL, in->names, (const ox_value *const *)in->values, in->n, NULL, out, n);
  *out_ms = cli_now_ms() - start;
  for (size_t i = 0; i < n; i++) ox_value_release(out[i]);
  return st;
}

static ox_status *measure(ox_session *s, cli_inputs *in, double seconds, bench_times *b) {
  double ms;
  ox_status *st = one_run(s, in, &b->first_ms);
  for (int i = 0; i < 2 && !st; i++) st = one_run(s, in, &ms); /* warm: not counted */
  double end = cli_now_ms() + seconds * 1e3;
  while (!st && (cli_now_ms() < end || b->n < 5)) {
    st = one_run(s, in, &ms);
    if (!st && !keep(b, ms)) break;
  }
  qsort(b->times, b->n, sizeof *b->times, compare);
  return st;
}

static void print(const bench_times *b, bool json) {
  double rss = cli_peak_rss_mb();
  if (json)
    printf("{\"load_ms\": %.3f, \"first_ms\": %.3f, \"median_ms\": %.4f, \"p90_ms\": %.4f, \"p99_ms\": %.4f, \"min_ms\": %.4f, "
           "\"runs\": %zu, \"peak_rss_mb\": %.1f, \"workspace_bytes\": %zu}\n",
           b->load_ms, b->first_ms, at(b, 0.5), at(b, 0.9), at(b, 0.99), at(b, 0), b->n, rss, b->workspace);
  else
    printf("load %.1f ms, first run %.2f ms\nmedian %.3f ms, p90 %.3f, p99 %.3f, min %.3f over %zu runs\n"
           "peak memory %.0f MB, workspace %.1f MB\n",
           b->load_ms, b->first_ms, at(b, 0.5), at(b, 0.9), at(b, 0.99), at(b, 0), b->n, rss, (double)b->workspace / 1e6);
}

static int run(int argc, char **argv) {
  bool json = false;
  const char *threads = NULL, *seconds = NULL, *level = NULL;
  cli_list paths = {.n = 0}, providers = {.n = 0}, dims = {.n = 0};
  const cli_option options[] = {
      {"--threads", NULL, &threads, NULL}, {"--seconds", NULL, &seconds, NULL},     {"--level", NULL, &level, NULL},
      {"--json", &json, NULL, NULL},       {"--provider", NULL, NULL, &providers}, {"--dim", NULL, NULL, &dims},
  };
  long long n_threads = 0, optimize = OX_OPTIMIZE_ALL;
  double secs = 3;
  static cli_providers specs;
  static cli_inputs in;
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &paths)) return EXIT_USAGE;
  if (!cli_parse_int("--threads", threads, 0, &n_threads) || !cli_parse_double("--seconds", seconds, &secs) ||
      !cli_parse_int("--level", level, 0, &optimize) || !cli_providers_parse(&providers, &specs))
    return EXIT_USAGE;
  if (paths.n != 1) {
    fprintf(stderr, "onyx bench: wants one model or folder (see onyx bench --help)\n");
    return EXIT_USAGE;
  }
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_session_opts opts;
  ox_session_opts_init(&opts);
  opts.n_threads = (uint32_t)n_threads, opts.optimize = (uint32_t)optimize;
  opts.providers = specs.specs, opts.n_providers = specs.n;
  char path[4096];
  snprintf(path, sizeof path, cli_is_dir(paths.items[0]) ? "%s/model.onnx" : "%s", paths.items[0]);
  bench_times b = {0};
  ox_status *st = ox_env_create(NULL, &env);
  double start = cli_now_ms();
  if (!st) st = ox_session_create_file(env, path, &opts, &s);
  b.load_ms = cli_now_ms() - start;
  if (!st) st = cli_is_dir(paths.items[0]) ? cli_inputs_from_dir(env, s, paths.items[0], &in) : cli_inputs_random(env, s, 0, &dims, &in);
  if (!st) st = measure(s, &in, secs, &b);
  ox_shape shapes[CLI_MOST];
  for (size_t i = 0; !st && i < in.n; i++) shapes[i] = ox_value_get(in.values[i])->shape;
  if (!st) st = ox_session_plan(s, shapes, in.n, &b.workspace);
  if (!st) print(&b, json);
  int code = st ? cli_fail(st) : EXIT_OK;
  cli_inputs_release(&in);
  free(b.times);
  ox_session_release(s);
  ox_env_release(env);
  return code;
}

const cli_command cmd_bench = {
    "bench", "times a model",
    "usage: onyx bench MODEL|DIR [options]\n\n"
    "Loads the model, runs it once, then again and again. A DIR holds model.onnx and test_data_set_0/; a MODEL gets random\n"
    "inputs.\n\n"
    "  --threads N     threads (0: as many as the machine allows)\n"
    "  --seconds S     how long to measure (3)\n"
    "  --dim NAME=N    size of a symbolic dimension; may be repeated\n"
    "  --level L       0 none, 1 basic, 2 extended, 3 all optimizations (3)\n"
    "  --provider NAME[:k=v,...]  ask this provider first; may be repeated\n"
    "  --json          load_ms first_ms median_ms p90_ms p99_ms min_ms runs peak_rss_mb workspace_bytes\n",
    run};
