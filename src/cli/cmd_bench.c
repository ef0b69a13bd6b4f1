/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_bench.c - onyx bench: load, first run, then runs for some seconds. */
#include <stdlib.h>
#include <string.h>

#include "bench_compare.h"
#include "cli_model.h"

typedef struct {
  double load_ms, first_ms;
  double *times;
  size_t n, capacity;
  int64_t workspace; /* -1: not known */
} bench_times;

static int by_size(const void *a, const void *b) {
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

static ox_status *one_run(cli_model *m, double *out_ms) {
  double start = cli_now_ms();
  ox_status *st = cli_model_run(m);
  *out_ms = cli_now_ms() - start;
  cli_model_drop_outputs(m);
  return st;
}

static ox_status *measure(cli_model *m, double seconds, bench_times *b) {
  double ms;
  ox_status *st = one_run(m, &b->first_ms);
  for (int i = 0; i < 2 && !st; i++) st = one_run(m, &ms); /* warm: not counted */
  double end = cli_now_ms() + seconds * 1e3;
  cli_progress bar;
  cli_progress_start(&bar, "measuring");
  while (!st && (cli_now_ms() < end || b->n < 5)) {
    st = one_run(m, &ms);
    if (!st && !keep(b, ms)) break;
    cli_progress_at(&bar, 1 - (end - cli_now_ms()) / (seconds * 1e3), b->n);
  }
  cli_progress_end(&bar);
  if (b->n) qsort(b->times, b->n, sizeof *b->times, by_size);
  return st;
}

static struct {
  cli_model model;
  double seconds;
  char *compare;
} args = {.model.args.level = OX_OPTIMIZE_ALL, .seconds = 3};

static const cli_option options[] = {
    CLI_NUMBER("seconds", "S", &args.seconds, "how long to measure"),
    CLI_TEXT("compare", "PROVIDERS", &args.compare,
             "compare these providers, taking turns, each for --seconds: cpu,xnnpack,onednn"),
    CLI_MODEL_OPTIONS(args.model),
};

static void print_json(const bench_times *b) {
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_double(ox_json_key(&j, "load_ms"), b->load_ms);
  ox_json_double(ox_json_key(&j, "first_ms"), b->first_ms);
  ox_json_double(ox_json_key(&j, "median_ms"), at(b, 0.5));
  ox_json_double(ox_json_key(&j, "p90_ms"), at(b, 0.9));
  ox_json_double(ox_json_key(&j, "p99_ms"), at(b, 0.99));
  ox_json_double(ox_json_key(&j, "min_ms"), at(b, 0));
  ox_json_uint(ox_json_key(&j, "runs"), b->n);
  ox_json_double(ox_json_key(&j, "peak_rss_mb"), cli_peak_rss_mb());
  ox_json_key(&j, "workspace_bytes");
  if (b->workspace < 0)
    ox_json_string(&j, NULL);
  else
    ox_json_int(&j, b->workspace);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static void print_text(const bench_times *b) {
  printf(
      "load %.1f ms, first run %.2f ms\nmedian %.3f ms, p90 %.3f, p99 %.3f, min %.3f over %zu runs\n"
      "peak memory %.0f MB",
      b->load_ms, b->first_ms, at(b, 0.5), at(b, 0.9), at(b, 0.99), at(b, 0), b->n, cli_peak_rss_mb());
  if (b->workspace >= 0) printf(", workspace %.1f MB", (double)b->workspace / 1e6);
  printf("\n");
}

static ox_status *work(cli_model *m, bench_times *b) {
  b->load_ms = m->load_ms;
  ox_status *st = cli_model_fill(m);
  if (!st) st = measure(m, args.seconds, b);
  if (!st) st = cli_model_workspace(m, &b->workspace);
  if (!st && m->json)
    print_json(b);
  else if (!st)
    print_text(b);
  return st;
}

static int run(const cli_operands *operands) {
  bench_times b = {0};
  int code = cli_model_open(&args.model, operands, false);
  bool compare = args.compare && code == EXIT_OK;
  char path[4096];
  if (compare) {
    cli_model_path(&args.model, path, sizeof path);
    code = cli_bench_compare(&args.model, args.compare, args.seconds, path);
  }
  ox_status *st = code == EXIT_OK && !compare ? work(&args.model, &b) : NULL;
  if (st) code = cli_fail(st);
  free(b.times);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_bench = {
    .name = "bench",
    .summary = "times a model",
    .about =
        "Loads the model, runs it once, then again and again. A DIR holds model.onnx and test_data_set_0/; a MODEL\n"
        "gets random inputs. JSON: load_ms first_ms median_ms p90_ms p99_ms min_ms runs peak_rss_mb workspace_bytes.\n"
        "With --compare a table: median, ratio to the first provider's, the share of nodes and of time that the\n"
        "provider itself runs, and the largest difference of its outputs from the first one's, relative to their\n"
        "largest magnitude.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
