/* SPDX-License-Identifier: Apache-2.0
 * base/tune.c - see tune.h. */
#include "base/tune.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file_map.h"
#include "base/file_replace.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/version.h"

enum { LEAST_CALLS = 3, LEAST_NS = 3000000, MOST_BYTES = 1 << 24, MOST_TASKS = 1 << 16 };

typedef struct ox_tune_entry {
  const char *task, *fastest;
  const char *ways; /* as the file has them */
} ox_tune_entry;

struct ox_tune {
  ox_tune_opts opts;
  pthread_mutex_t lock, measuring; /* of the entries; of the thread that measures */
  ox_arena arena;
  ox_map by_task;
  ox_tune_entry *entries;
  size_t n, capacity;
  bool changed; /* the file is to be written */
};

/* All of |text| up to the end or to the first '|'. */
static const char *keep(ox_tune *t, const char *text) { return ox_arena_str(&t->arena, text, strcspn(text, "|")); }

/* An entry from "way ns|way ns". False: no memory. */
static bool add(ox_tune *t, const char *task, const char *ways) {
  void *entries = t->entries;
  ox_tune_entry e = {.task = keep(t, task), .ways = ox_arena_str(&t->arena, ways, strlen(ways))};
  size_t n = strcspn(ways, "|");
  while (n && ways[n - 1] != ' ') n--; /* the time */
  e.fastest = ox_arena_str(&t->arena, ways, n ? n - 1 : 0);
  if (!e.task || !e.ways || !e.fastest) return false;
  if (!ox_grow(t->opts.alloc, &entries, &t->capacity, t->n, sizeof e)) return false;
  t->entries = entries;
  if (!ox_map_put(&t->by_task, e.task, (uint32_t)t->n)) return false;
  t->entries[t->n++] = e;
  return true;
}

/* ---- the file ---- */

static const char first_line[] = "onyx tune 1", machine_word[] = "machine ", task_word[] = "task ";

static void say(const ox_tune *t, ox_log_level level, const char *what, const char *why) {
  char text[1024];
  if (!t->opts.log) return;
  snprintf(text, sizeof text, "tuning: %s %s: %s", t->opts.path, what, why);
  t->opts.log(t->opts.log_ctx, level, text);
}

/* This machine, as the file names it. */
static void machine(const ox_tune *t, char *out, size_t n) {
  char model[128], isa[128];
  ox_cpu_model(model, sizeof model);
  ox_isa_text(t->opts.isa, isa, sizeof isa);
  snprintf(out, n, "%s, %s, onyx %s", model, isa, OX_VERSION);
}

/* The next line of [*at, end) into |out|; false: it is too long or not printable. */
static bool next_line(const char **at, const char *end, char *out) {
  size_t n = 0;
  for (; *at < end && **at != '\n'; (*at)++) {
    if (**at < ' ' || **at > '~' || n == OX_TUNE_LINE - 1) return false;
    out[n++] = **at;
  }
  out[n] = 0, *at += *at < end;
  return true;
}

/* "way ns|way ns": names that are not empty, and times of digits. */
static bool ways_ok(const char *ways) {
  size_t count = 0;
  for (const char *p = ways;; p++, count++) {
    size_t n = strcspn(p, "|"), digits = 0;
    while (digits < n && p[n - 1 - digits] >= '0' && p[n - 1 - digits] <= '9') digits++;
    if (!digits || digits > 18 || n < digits + 2 || p[n - 1 - digits] != ' ' || n >= OX_TUNE_KEY) return false;
    p += n;
    if (!*p) return count < OX_TUNE_WAYS;
  }
}

/* Why the line cannot be taken; NULL: it could. */
static const char *read_task(ox_tune *t, char *line, bool *out_memory) {
  if (strncmp(line, task_word, strlen(task_word)) != 0) return "a line that is no task";
  char *task = line + strlen(task_word), *bar = strchr(task, '|');
  if (!bar || bar == task || bar - task >= OX_TUNE_KEY || !ways_ok(bar + 1)) return "a task without its ways";
  if (t->n == MOST_TASKS) return "too many tasks";
  *bar = 0;
  if (ox_map_find(&t->by_task, task) != OX_NONE) return "a task that is there twice";
  *out_memory = !add(t, task, bar + 1);
  return NULL;
}

static const char *read_lines(ox_tune *t, const char *at, const char *end, bool *out_memory) {
  char line[OX_TUNE_LINE], want[512];
  const char *why = NULL;
  if (!next_line(&at, end, line) || strcmp(line, first_line) != 0) return "not a file of this version";
  machine(t, want, sizeof want);
  if (!next_line(&at, end, line) || strncmp(line, machine_word, strlen(machine_word)) != 0) return "no machine";
  if (strcmp(line + strlen(machine_word), want) != 0) return "of another machine or version";
  while (at < end && !why && !*out_memory) why = next_line(&at, end, line) ? read_task(t, line, out_memory) : "no text";
  return why;
}

static void forget(ox_tune *t) {
  ox_map_deinit(&t->by_task);
  ox_map_init(&t->by_task, t->opts.alloc);
  t->n = 0;
}

static ox_status *read_file(ox_tune *t) {
  ox_file_map *map;
  bool out_memory = false;
  t->changed = t->opts.measures; /* until the file turns out to be good */
  if (access(t->opts.path, F_OK)) {
    if (!t->opts.measures) say(t, OX_LOG_WARNING, "is not used", strerror(errno));
    return NULL;
  }
  ox_status *st = ox_file_map_open(t->opts.alloc, NULL, t->opts.path, &map);
  if (ox_status_code(st) == OX_OUT_OF_MEMORY) return st;
  if (st) {
    say(t, OX_LOG_WARNING, "is not used", ox_status_message(st));
    ox_status_free(st);
    return NULL;
  }
  const char *data = (const char *)ox_file_map_data(map);
  size_t n = ox_file_map_bytes(map);
  const char *why = n > MOST_BYTES ? "too large" : read_lines(t, data, data + n, &out_memory);
  ox_file_map_release(map);
  if (out_memory) return ox_oom();
  t->changed = t->changed && why;
  if (why) forget(t), say(t, OX_LOG_WARNING, "is not used", why);
  return NULL;
}

static bool write_lines(const ox_tune *t, FILE *f) {
  char text[512];
  machine(t, text, sizeof text);
  bool ok = fprintf(f, "%s\n%s%s\n", first_line, machine_word, text) > 0;
  for (size_t i = 0; i < t->n && ok; i++)
    ok = fprintf(f, "%s%s|%s\n", task_word, t->entries[i].task, t->entries[i].ways) > 0;
  return ok;
}

static void write_file(const ox_tune *t) {
  ox_file_replace r;
  bool ok = ox_file_replace_open(&r, t->opts.path);
  if (ok) {
    bool written = write_lines(t, r.file);
    ok = ox_file_replace_close(&r, written) && written;
  }
  if (!ok) say(t, OX_LOG_WARNING, "is not written", strerror(errno));
}

/* ---- the table ---- */

ox_status *ox_tune_open(const ox_tune_opts *opts, ox_tune **out_tune) {
  ox_tune *t = *out_tune = ox_new_zeroed(opts->alloc, sizeof *t);
  if (!t) return ox_oom();
  t->opts = *opts;
  pthread_mutex_init(&t->lock, NULL);
  pthread_mutex_init(&t->measuring, NULL);
  ox_arena_init(&t->arena, opts->alloc);
  ox_map_init(&t->by_task, opts->alloc);
  ox_status *st = NULL;
  if (opts->path && !(t->opts.path = ox_arena_str(&t->arena, opts->path, strlen(opts->path)))) st = ox_oom();
  if (!st && opts->path) st = read_file(t);
  if (st) t->changed = false, ox_tune_close(t), *out_tune = NULL;
  return st;
}

void ox_tune_close(ox_tune *t) {
  if (!t) return;
  if (t->changed && t->opts.path) write_file(t);
  ox_map_deinit(&t->by_task);
  ox_delete(t->opts.alloc, t->entries, t->capacity * sizeof *t->entries);
  ox_arena_deinit(&t->arena);
  pthread_mutex_destroy(&t->measuring);
  pthread_mutex_destroy(&t->lock);
  ox_delete(t->opts.alloc, t, sizeof *t);
}

static const char *find(const ox_tune *t, const char *task) {
  uint32_t i = ox_map_find(&t->by_task, task);
  return i == OX_NONE ? NULL : t->entries[i].fastest;
}

const char *ox_tune_find(ox_tune *t, const char *task) {
  if (!t) return NULL;
  pthread_mutex_lock(&t->lock);
  const char *way = find(t, task);
  pthread_mutex_unlock(&t->lock);
  return way;
}

bool ox_tune_measures(const ox_tune *t) { return t && t->opts.measures; }
void ox_tune_begin(ox_tune *t) { pthread_mutex_lock(&t->measuring); }
void ox_tune_end(ox_tune *t) { pthread_mutex_unlock(&t->measuring); }
ox_alloc ox_tune_alloc(const ox_tune *t) { return t->opts.alloc; }

static int faster(const void *a, const void *b) {
  double x = ((const ox_tune_way *)a)->ns, y = ((const ox_tune_way *)b)->ns;
  return (x > y) - (x < y);
}

void ox_tune_put(ox_tune *t, const char *task, ox_tune_way *ways, size_t n) {
  char text[OX_TUNE_LINE];
  size_t at = 0;
  if (!n)
    at = (size_t)snprintf(text, sizeof text, "none 0");
  else
    qsort(ways, n, sizeof *ways, faster);
  for (size_t i = 0; i < n && at < sizeof text; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %.0f", i ? "|" : "", ways[i].name, ways[i].ns);
  if (at + strlen(task) + sizeof "task |" >= OX_TUNE_LINE) return;
  pthread_mutex_lock(&t->lock);
  if (!find(t, task) && add(t, task, text)) t->changed = true;
  pthread_mutex_unlock(&t->lock);
}

double ox_tune_time(void (*fn)(void *ctx), void *ctx) {
  double least = 1e300;
  fn(ctx); /* caches, pages */
  int64_t begin = ox_clock_ns(), start = begin, now = begin;
  for (int i = 0; i < LEAST_CALLS || now - begin < LEAST_NS; i++, start = now) {
    fn(ctx);
    now = ox_clock_ns();
    least = OX_MIN(least, (double)(now - start));
  }
  return least;
}
