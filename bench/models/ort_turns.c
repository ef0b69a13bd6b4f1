/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_turns.c - times one model in several libonnxruntime.so.1 within one process, run by run in turns.
 * Where other programs or guests share the cores, speed changes within tenths of a second, and two processes that take
 * turns see different machines; here each round sees one. Prints JSON: for each library its times and the median of
 * its ratio to the first one in a round.
 * usage: ort_turns MODEL DATA THREADS SECONDS PAUSE LIBRARY LIBRARY...
 * PAUSE: ms to sleep, then a run that is not timed, before a library's turn: with several threads, those of the library
 * before may still spin. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ort_model.h"

enum { MAX_LIBRARIES = 8, LEAST_ROUNDS = 5, MAX_ROUNDS = 100000 };
static const double turn_ms = 2; /* of small models a turn has several runs, as the clock is not that fine */

typedef struct contender {
  ort_library library;
  ort_model model;
  double *times; /* ms for a run, by round */
} contender;

static void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

static void run_once(ort_model *m) { ort_model_run(m), ort_model_drop_outputs(m); }

static double time_turn(ort_model *m, int runs, long pause_ms) {
  if (pause_ms) sleep_ms(pause_ms), run_once(m);
  double start = now_ms();
  for (int i = 0; i < runs; i++) run_once(m);
  return (now_ms() - start) / runs;
}

/* How many runs of the first library fill a turn. */
static int runs_of_turn(ort_model *m) {
  double least = time_turn(m, 1, 0);
  for (int i = 0; i < WARM_RUNS; i++) {
    double ms = time_turn(m, 1, 0);
    if (ms < least) least = ms;
  }
  return least < turn_ms ? 1 + (int)(turn_ms / least) : 1;
}

static size_t measure(contender *c, int n, int runs, double seconds, long pause_ms) {
  size_t round = 0;
  for (double end = now_ms() + seconds * 1e3; round < MAX_ROUNDS && (now_ms() < end || round < LEAST_ROUNDS); round++)
    for (int i = 0; i < n; i++) {
      contender *who = &c[(i + (int)(round % (size_t)n)) % n]; /* nobody always comes after the same one */
      who->times[round] = time_turn(&who->model, runs, pause_ms);
    }
  return round;
}

static void report(contender *c, int n, int runs, size_t rounds) {
  double *ratios = malloc(rounds * sizeof *ratios), *first = malloc(rounds * sizeof *first);
  if (!ratios || !first) die("no memory for the ratios");
  for (size_t r = 0; r < rounds; r++) first[r] = c[0].times[r];
  printf("{\"rounds\": %zu, \"runs\": %d, \"libraries\": [", rounds, runs);
  for (int i = 0; i < n; i++) {
    double *times = c[i].times;
    for (size_t r = 0; r < rounds; r++) ratios[r] = times[r] / first[r];
    times_sort(ratios, rounds), times_sort(times, rounds);
    printf("%s{\"version\": \"%s\", \"min_ms\": %.6f, \"median_ms\": %.6f, \"p90_ms\": %.6f, \"ratio\": %.5f}",
           i ? ", " : "", c[i].library.version, times[0], times_at(times, rounds, 0.5), times_at(times, rounds, 0.9),
           times_at(ratios, rounds, 0.5));
  }
  printf("]}\n");
  free(ratios), free(first);
}

int main(int argc, char **argv) {
  static contender all[MAX_LIBRARIES];
  int n = argc - 6;
  if (n < 2 || n > MAX_LIBRARIES) die("usage: ort_turns MODEL DATA THREADS SECONDS PAUSE LIBRARY LIBRARY...");
  for (int i = 0; i < n; i++) {
    contender *c = &all[i];
    c->library = ort_library_open(argv[6 + i]);
    c->times = malloc(MAX_ROUNDS * sizeof *c->times);
    if (!c->times) die("no memory for the times");
    ort_model_load(&c->model, c->library.api, argv[1], atoi(argv[3]), NULL);
    ort_model_fill(&c->model, argv[2]);
    for (int w = 0; w <= WARM_RUNS; w++) run_once(&c->model);
  }
  int runs = runs_of_turn(&all[0].model);
  size_t rounds = measure(all, n, runs, atof(argv[4]), atol(argv[5]));
  report(all, n, runs, rounds);
  for (int i = 0; i < n; i++) ort_model_close(&all[i].model), free(all[i].times);
  return 0;
}
