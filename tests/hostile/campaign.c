/* SPDX-License-Identifier: Apache-2.0
 * hostile/campaign.c - models of one node with something wrong about it, each loaded and run: any answer is fine
 * but a crash, a sanitizer's report, a leak, or no answer in time.
 *
 *   hostile [--count N] [--seed S] [--seconds T] [--jobs J] SEEDS     N cases of seed S, or as many as T seconds allow
 *   hostile --case K [--seed S] SEEDS                                 one of them in this process, and what it is
 *   hostile --unchanged SEEDS                                            every seed as it is: all must run, and
 *                                                                     every operator must have one
 *
 * Cases run in child processes, many in a row; one that dies is reported, and another takes over behind it. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "hostile/mutation.h"
#include "hostile/run_case.h"
#include "ops/builtin.h"

enum { MOST_JOBS = 64, BATCH = 500, ANSWER_SECONDS = 20 };

static struct {
  one_node_model all[MOST_SEEDS];
  uint32_t n;
} seeds;

static struct {
  uint64_t seed, count;
  double seconds;
  int jobs;
} args = {.seed = 1, .count = 10000, .jobs = 2};

/* What children tell. */
typedef struct {
  volatile uint64_t now[MOST_JOBS]; /* the case at work */
  volatile uint64_t outcomes[MOST_JOBS][N_OUTCOMES];
} board;

/* ---- one case ---- */

/* The |k|-th case, up to what the session draws. */
static rng draw(uint64_t k, hostile_case *c) {
  rng r = {.state = args.seed * 0x2545f4914f6cdd1du + k};
  rng_next(&r);
  hostile_draw(&r, (hostile_seeds){seeds.all, seeds.n}, c);
  return r;
}

static void run_case(uint64_t k, hostile_case *c) {
  rng r = draw(k, c);
  c->outcome = hostile_run(&c->text, &r, c->message, sizeof c->message);
}

static const char *const outcome_names[N_OUTCOMES] = {"ran", "the run was refused", "the load was refused", "no model",
                                                      "LEAKED"};

static int run_one(uint64_t k) {
  static hostile_case c;
  draw(k, &c); /* written first: running it may end this process */
  printf("%s, %s, %s\n%s", c.mutations[0], c.mutations[1], hostile_place_names[c.text.place], c.text.text);
  fflush(stdout);
  run_case(k, &c);
  printf("%s: %s\n", outcome_names[c.outcome], c.message);
  return c.outcome == OUTCOME_LEAKED;
}

/* A model of one node cannot hold it: it has bodies, or a seed cannot write its only input, a map. */
static bool beyond_one_node(const ox_schema *s) {
  static const char *const of_maps[] = {"CastMap", "DictVectorizer"};
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (s->attrs[i].kind == OX_ATTR_GRAPH_KIND) return true;
  for (size_t i = 0; i < OX_COUNT(of_maps); i++)
    if (s->traits & OX_ANY_KIND && strcmp(s->name, of_maps[i]) == 0) return true;
  return s->control != NULL;
}

static bool has_seed(const char *op) {
  for (uint32_t i = 0; i < seeds.n; i++)
    if (strcmp(seeds.all[i].op, op) == 0) return true;
  return false;
}

/* Operators that a model may hold and that no seed tries; names them. */
static int count_missing(void) {
  int missing = 0;
  size_t n;
  const ox_op *const *rows = ox_registry_all(ox_ops_builtin(), &n);
  for (size_t i = 0; i < n; i++) {
    const ox_schema *s = rows[i]->schema, *next = i + 1 < n ? rows[i + 1]->schema : NULL;
    const char *domain = s->domain ? s->domain : "";
    bool last = !next || strcmp(s->name, next->name) != 0 || strcmp(domain, next->domain ? next->domain : "") != 0;
    char op[2 * MOST_NAME];
    snprintf(op, sizeof op, "%s%s%s", domain, *domain ? "." : "", s->name);
    if (!last || beyond_one_node(s) || has_seed(op)) continue; /* the last of its versions stands for all */
    printf("FAILED %s: no seed\n", op);
    missing++;
  }
  return missing;
}

/* Every seed, unchanged. */
static int run_seeds(void) {
  static hostile_text text;
  int failed = 0, missing = count_missing();
  for (uint32_t i = 0; i < seeds.n; i++) {
    char message[300];
    rng r = {.state = i};
    hostile_write(&seeds.all[i], true, &r, &text);
    hostile_outcome outcome = hostile_run(&text, &r, message, sizeof message);
    if (outcome == OUTCOME_RAN) continue;
    printf("FAILED seed %u, %s: %s: %s\n", i, seeds.all[i].op, outcome_names[outcome], message);
    failed++;
  }
  printf("%u passed, %d failed\n", seeds.n - (uint32_t)failed, failed + missing);
  return failed + missing != 0;
}

/* ---- many ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static pid_t start(board *b, int job, uint64_t first, uint64_t n) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid) return pid;
  static hostile_case c;
  for (uint64_t k = first; k < first + n; k++) {
    b->now[job] = k;
    alarm(ANSWER_SECONDS);
    run_case(k, &c);
    b->outcomes[job][c.outcome]++;
    if (c.outcome != OUTCOME_LEAKED) continue;
    printf("FAILED case %llu (%s: %s): %s\n", (unsigned long long)k, c.model.op, c.mutations[0], c.message);
    fflush(stdout);
  }
  b->now[job] = first + n;
  exit(0);
}

/* The case that |job| died of; its index + 1 is where to go on. */
static void tell_death(const board *b, int job, int status) {
  static hostile_case c;
  uint64_t k = b->now[job];
  draw(k, &c);
  printf("FAILED case %llu (%s: %s): ", (unsigned long long)k, c.model.op, c.mutations[0]);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    printf("no answer in %d s\n", ANSWER_SECONDS);
  else if (WIFSIGNALED(status))
    printf("signal %d\n", WTERMSIG(status));
  else
    printf("exit %d\n", WEXITSTATUS(status));
}

typedef struct {
  pid_t pid;
  uint64_t end; /* of its batch */
} worker;

static int run_many(void) {
  board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  worker workers[MOST_JOBS] = {{0}};
  uint64_t next = 0, failed = 0, all[N_OUTCOMES] = {0}, done = 0;
  double end = now() + args.seconds;
  if (b == MAP_FAILED) return 2;
  for (bool busy = true; busy;) {
    busy = false;
    for (int j = 0; j < args.jobs; j++) {
      bool more = args.seconds > 0 ? now() < end : next < args.count;
      if (!workers[j].pid && more) {
        uint64_t n = args.seconds > 0 || args.count - next > BATCH ? BATCH : args.count - next;
        workers[j] = (worker){start(b, j, next, n), next + n};
        next += n;
      }
      busy |= workers[j].pid > 0;
    }
    int status;
    pid_t pid = busy ? wait(&status) : 0;
    for (int j = 0; j < args.jobs && pid > 0; j++) {
      if (workers[j].pid != pid) continue;
      workers[j].pid = 0;
      if (b->now[j] == workers[j].end && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      tell_death(b, j, status);
      failed++;
      if (b->now[j] + 1 < workers[j].end) workers[j].pid = start(b, j, b->now[j] + 1, workers[j].end - b->now[j] - 1);
    }
  }
  for (int j = 0; j < args.jobs; j++)
    for (int e = 0; e < N_OUTCOMES; e++) all[e] += b->outcomes[j][e], done += b->outcomes[j][e];
  for (int e = 0; e < N_OUTCOMES; e++) printf("%llu %s, ", (unsigned long long)all[e], outcome_names[e]);
  failed += all[OUTCOME_LEAKED];
  printf("seed %llu\n%llu passed, %llu failed\n", (unsigned long long)args.seed,
         (unsigned long long)(done - all[OUTCOME_LEAKED]), (unsigned long long)failed);
  return failed != 0;
}

int main(int argc, char **argv) {
  const char *path = NULL;
  bool unchanged = false, one = false;
  uint64_t k = 0;
  for (int i = 1; i < argc; i++) {
    const char *v = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--unchanged") == 0)
      unchanged = true;
    else if (strcmp(argv[i], "--count") == 0)
      args.count = strtoull(v, NULL, 10), i++;
    else if (strcmp(argv[i], "--seed") == 0)
      args.seed = strtoull(v, NULL, 10), i++;
    else if (strcmp(argv[i], "--seconds") == 0)
      args.seconds = strtod(v, NULL), i++;
    else if (strcmp(argv[i], "--jobs") == 0)
      args.jobs = atoi(v), i++;
    else if (strcmp(argv[i], "--case") == 0)
      one = true, k = strtoull(v, NULL, 10), i++;
    else
      path = argv[i];
  }
  if (!path || args.jobs < 1 || args.jobs > MOST_JOBS || !(seeds.n = one_node_read_file(path, seeds.all))) {
    fprintf(stderr, "usage: hostile [--count N] [--seed S] [--seconds T] [--jobs J] [--case K] [--unchanged] SEEDS\n");
    return 2;
  }
  return unchanged ? run_seeds() : one ? run_one(k) : run_many();
}
