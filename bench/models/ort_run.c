/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_run.c - times one model in a libonnxruntime.so.1, Microsoft's or ours: load, first run, then runs
 * for some seconds. Prints what `onyx bench --json` prints, or, given a folder for them, writes the outputs of one run.
 * usage: ort_run LIBRARY                                            prints the library's version
 *        ort_run LIBRARY MODEL DATA THREADS SECONDS [OUT]           DATA holds input_0.pb ... with raw_data
 * A provider may stand first, --provider=cuda[,KEY=VALUE...]: CUDA, asked before the CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ort_model.h"

enum { LEAST_RUNS = 5 };

static double *measure(ort_model *m, double seconds, size_t *out_n) {
  for (int i = 0; i < WARM_RUNS; i++) ort_model_run(m), ort_model_drop_outputs(m);
  size_t n = 0, capacity = 0;
  double *times = NULL;
  for (double end = now_ms() + seconds * 1e3; now_ms() < end || n < LEAST_RUNS;) {
    if (n == capacity) {
      capacity = capacity ? capacity * 2 : 1024;
      times = realloc(times, capacity * sizeof *times);
      if (!times) die("no memory for the times");
    }
    double start = now_ms();
    ort_model_run(m);
    ort_model_drop_outputs(m); /* whoever takes outputs has to give them back, so both count, as in onyx bench */
    times[n++] = now_ms() - start;
  }
  times_sort(times, n);
  *out_n = n;
  return times;
}

static void report(const char *version, double load_ms, double first_ms, const double *times, size_t n) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  printf("{\"version\": \"%s\", \"load_ms\": %.4f, \"first_ms\": %.4f, \"median_ms\": %.6f, \"p90_ms\": %.6f, ",
         version, load_ms, first_ms, times_at(times, n, 0.5), times_at(times, n, 0.9));
  printf("\"p99_ms\": %.6f, \"min_ms\": %.6f, \"runs\": %zu, \"peak_rss_mb\": %.2f}\n", times_at(times, n, 0.99),
         times[0], n, (double)u.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
  static char option[] = "--provider=";
  char *provider = argc > 1 && !strncmp(argv[1], option, sizeof option - 1) ? argv[1] + sizeof option - 1 : NULL;
  if (provider) argc--, argv++;
  if (argc != 2 && argc != 6 && argc != 7)
    die("usage: ort_run [--provider=cuda[,KEY=VALUE...]] LIBRARY [MODEL DATA THREADS SECONDS [OUT]]");
  ort_library library = ort_library_open(argv[1]);
  if (argc == 2) {
    printf("%s\n", library.version);
    return 0;
  }
  static ort_model m;
  double load_ms = ort_model_load(&m, library.api, argv[2], atoi(argv[4]), provider);
  ort_model_fill(&m, argv[3]);
  double first_ms = ort_model_run(&m);
  if (argc == 7) {
    ort_model_write_outputs(&m, argv[6]);
    ort_model_drop_outputs(&m);
  } else {
    ort_model_drop_outputs(&m);
    size_t n;
    double *times = measure(&m, atof(argv[5]), &n);
    report(library.version, load_ms, first_ms, times, n);
    free(times);
  }
  ort_model_close(&m);
  return 0;
}
