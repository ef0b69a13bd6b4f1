/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_bench.c - onyx bench: load, first run, then runs for some seconds. */
#include <stdlib.h>
#include <string.h>

#include "cli_model.h"

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
  cli_progress bar;
  cli_progress_start(&bar, "measuring");
  while (!st && (cli_now_ms() < end || b->n < 5)) {
    st = one_run(s, in, &ms);
    if (!st && !keep(b, ms)) break;
    cli_progress_at(&bar, 1 - (end - cli_now_ms()) / (seconds * 1e3), b->n);
  }
  cli_progress_end(&bar);
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
  static cli_inputs in;
  static cli_model m;
  const char *seconds = NULL;
  const cli_option options[] = {CLI_MODEL_ROWS(&m), {"--seconds", NULL, &seconds, NULL}};
  double secs = 3;
  bench_times b = {0};
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &m.paths)) return EXIT_USAGE;
  if (!cli_parse_double("--seconds", seconds, &secs)) return EXIT_USAGE;
  int code = cli_model_open(&m, "bench", false);
  b.load_ms = m.load_ms;
  ox_status *st = code == EXIT_OK ? cli_model_inputs(&m, &in) : NULL;
  if (code == EXIT_OK && !st) st = measure(m.session, &in, secs, &b);
  ox_shape shapes[CLI_MOST];
  for (size_t i = 0; i < in.n; i++) shapes[i] = ox_value_get(in.values[i])->shape;
  if (code == EXIT_OK && !st) st = ox_session_plan(m.session, shapes, in.n, &b.workspace);
  if (code == EXIT_OK && !st) print(&b, m.json);
  if (st) code = cli_fail(st);
  cli_inputs_release(&in);
  free(b.times);
  cli_model_close(&m);
  return code;
}

const cli_command cmd_bench = {
    "bench", "times a model",
    "usage: onyx bench MODEL|DIR [options]\n\n"
    "Loads the model, runs it once, then again and again. A DIR holds model.onnx and test_data_set_0/; a MODEL gets random\n"
    "inputs.\n\n"
    "  --seconds S         how long to measure (3)\n" CLI_MODEL_HELP
    "  JSON keys: load_ms first_ms median_ms p90_ms p99_ms min_ms runs peak_rss_mb workspace_bytes\n",
    run};
