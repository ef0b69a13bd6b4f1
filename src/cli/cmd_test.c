/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_test.c - onyx test: runs folders in the layout of ONNX's backend tests, each case in a process of its own. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

typedef struct {
  cli_tolerance tol;
  cli_providers providers;
  unsigned threads, timeout_s;
  unsigned optimize;
  bool json, quiet;
  size_t passed, failed, skipped;
  cli_progress bar;
} test_run;

enum { WHY = 1024, PATH_BYTES = 4096, MOST_IO = 512 };

/* ---- one data set ---- */

typedef struct {
  ox_env *env;
  ox_session *session;
  const char *names[MOST_IO], *out_names[MOST_IO];
  ox_value *in[MOST_IO], *out[MOST_IO];
  size_t n_in, n_out;
} case_io;

/* The backend tests' stand-in for recorded inputs of light models: element i of n is i / n. */
static bool ramp_inputs(case_io *io, char *why) {
  for (size_t i = 0; i < ox_session_input_count(io->session) && i < MOST_IO; i++) {
    ox_value_info info;
    int64_t dims[OX_MAX_RANK];
    ox_status_free(ox_session_input(io->session, i, &info));
    for (int d = 0; d < info.rank; d++) dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
    ox_status *st = info.dtype == OX_F32 && info.rank >= 0 ? ox_value_create(io->env, OX_F32, dims, (size_t)info.rank, &io->in[i])
                                                           : ox_task_error(OX_INVALID_ARGUMENT, "only float32 inputs can be made up");
    if (st) snprintf(why, WHY, "input '%s': %s", info.name, ox_status_message(st));
    ox_status_free(st);
    if (!io->in[i]) return false;
    int64_t n = ox_tensor_count(ox_value_get(io->in[i]));
    for (int64_t k = 0; k < n; k++) ((float *)ox_value_data(io->in[i]))[k] = (float)((double)k / (double)n);
    io->names[i] = info.name, io->n_in = i + 1;
  }
  return true;
}

static bool load_inputs(case_io *io, const char *set, char *why) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < ox_session_input_count(io->session) && i < MOST_IO; i++) {
    ox_value_info info;
    ox_status_free(ox_session_input(io->session, i, &info));
    snprintf(path, sizeof path, "%s/input_%zu.pb", set, i);
    if (!cli_load_pb(io->env, path, info.optional ? OX_NONE_VALUE : info.kind, &io->in[i], why, WHY)) return false;
    io->names[i] = info.name, io->n_in = i + 1;
  }
  return true;
}

/* |prefix|: the outputs lie in <prefix>output_N.pb */
static bool check_outputs(const case_io *io, const char *prefix, const cli_tolerance *tol, char *why) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < io->n_out; i++) {
    ox_value *want = NULL;
    ox_value_info info;
    char what[WHY];
    ox_status_free(ox_session_output(io->session, i, &info));
    snprintf(path, sizeof path, "%soutput_%zu.pb", prefix, i);
    if (!cli_exists(path)) continue; /* an output that the test does not speak of */
    if (!cli_load_pb(io->env, path, info.optional ? OX_NONE_VALUE : info.kind, &want, why, WHY)) return false;
    cli_tolerance t = *tol;
    t.shapes_only = ox_session_is_random(io->session) != 0;
    bool equal = cli_equal(ox_value_get(io->out[i]), ox_value_get(want), &t, what, sizeof what);
    ox_value_release(want);
    if (equal) continue;
    snprintf(why, WHY, "output '%s': %s", info.name, what);
    return false;
  }
  return true;
}

/* |set| NULL: made-up inputs */
static bool run_set(case_io *io, const char *set, const char *prefix, const cli_tolerance *tol, char *why) {
  io->n_in = 0, io->n_out = ox_session_output_count(io->session);
  memset(io->out, 0, sizeof io->out);
  bool ok = io->n_out <= MOST_IO && (set ? load_inputs(io, set, why) : ramp_inputs(io, why));
  if (ok) {
    ox_status *st = ox_session_run(io->session, NULL, io->names, (const ox_value *const *)io->in, io->n_in, NULL, io->out, io->n_out);
    if (st) snprintf(why, WHY, "%s", ox_status_message(st));
    ok = st == NULL;
    ox_status_free(st);
  }
  if (ok) ok = check_outputs(io, prefix, tol, why);
  for (size_t i = 0; i < io->n_in; i++) ox_value_release(io->in[i]);
  for (size_t i = 0; i < io->n_out && i < MOST_IO; i++) ox_value_release(io->out[i]);
  return ok;
}

static bool run_sets(case_io *io, const test_run *t, const char *dir, char *why) {
  char set[PATH_BYTES], prefix[PATH_BYTES + 1];
  bool ok = true;
  size_t sets = 0;
  for (; ok; sets++) {
    snprintf(set, sizeof set, "%s/test_data_set_%zu", dir, sets);
    if (!cli_is_dir(set)) break;
    snprintf(prefix, sizeof prefix, "%s/", set);
    ok = run_set(io, set, prefix, &t->tol, why);
  }
  if (ok && !sets) snprintf(why, WHY, "no test_data_set_0");
  return ok && sets;
}

/* A folder with model.onnx and its data sets, or a light model: X.onnx beside X_output_N.pb. Runs in the child. */
static bool run_case(const test_run *t, const char *where, char *why) {
  static case_io io;
  char path[PATH_BYTES];
  bool light = !cli_is_dir(where);
  ox_session_opts opts;
  ox_session_opts_init(&opts);
  opts.n_threads = t->threads, opts.providers = t->providers.specs, opts.n_providers = t->providers.n;
  opts.optimize = t->optimize;
  snprintf(path, sizeof path, light ? "%s" : "%s/model.onnx", where);
  ox_status *st = ox_env_create(NULL, &io.env);
  if (!st) st = ox_session_create_file(io.env, path, &opts, &io.session);
  bool ok = st == NULL;
  if (st) snprintf(why, WHY, "%s", ox_status_message(st));
  ox_status_free(st);
  if (ok && light) {
    snprintf(path, sizeof path, "%.*s_", (int)(strlen(where) - strlen(".onnx")), where);
    ok = run_set(&io, NULL, path, &t->tol, why);
  } else if (ok) {
    ok = run_sets(&io, t, where, why);
  }
  ox_session_release(io.session);
  ox_env_release(io.env);
  return ok;
}

/* ---- isolation ---- */

static void report(test_run *t, const char *dir, bool ok, const char *why) {
  if (!ok) cli_progress_end(&t->bar);
  if (ok) t->passed++;
  else t->failed++;
  if (t->json) {
    printf("{\"case\":");
    cli_json_string(stdout, dir);
    printf(",\"passed\":%s,\"why\":", ok ? "true" : "false");
    cli_json_string(stdout, ok ? "" : why);
    printf("}\n");
  } else if (!ok) {
    printf("FAILED %s: %s\n", dir, why);
  }
}

static void isolated_case(test_run *t, const char *dir) {
  int fds[2];
  char why[WHY] = "";
  cli_progress_at(&t->bar, -1, t->passed + t->failed);
  fflush(NULL);
  if (pipe(fds) != 0) {
    report(t, dir, false, "no pipe");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    close(fds[0]);
    alarm(t->timeout_s);
    bool ok = run_case(t, dir, why);
    if (!ok && write(fds[1], why, strlen(why)) < 0) _exit(3);
    _exit(ok ? 0 : 1);
  }
  close(fds[1]);
  size_t n = 0;
  for (ssize_t got; child > 0 && (got = read(fds[0], why + n, sizeof why - 1 - n)) > 0;) n += (size_t)got;
  why[n] = 0;
  close(fds[0]);
  int code = 1;
  if (child < 0 || waitpid(child, &code, 0) != child) snprintf(why, sizeof why, "no process");
  else if (WIFSIGNALED(code) && WTERMSIG(code) == SIGALRM) snprintf(why, sizeof why, "not done after %u s", t->timeout_s);
  else if (WIFSIGNALED(code)) snprintf(why, sizeof why, "crashed by signal %d (%s)", WTERMSIG(code), strsignal(WTERMSIG(code)));
  report(t, dir, WIFEXITED(code) && WEXITSTATUS(code) == 0, why[0] ? why : "ended without a reason");
}

/* ---- walking ---- */

static int visible(const struct dirent *e) { return e->d_name[0] != '.'; }

static bool is_light(const char *path) {
  char output[PATH_BYTES];
  size_t n = strlen(path);
  if (n < 6 || strcmp(path + n - 5, ".onnx") != 0) return false;
  snprintf(output, sizeof output, "%.*s_output_0.pb", (int)(n - 5), path);
  return cli_exists(output);
}

static void walk(test_run *t, const char *path) {
  char below[PATH_BYTES];
  struct dirent **names;
  snprintf(below, sizeof below, "%s/model.onnx", path);
  if (cli_exists(below)) {
    isolated_case(t, path);
    return;
  }
  int n = scandir(path, &names, visible, alphasort);
  for (int i = 0; i < n; i++) {
    int len = snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name);
    bool fits = len > 0 && (size_t)len < sizeof below;
    if (fits && cli_is_dir(below)) walk(t, below);
    else if (fits && is_light(below)) isolated_case(t, below);
    free(names[i]);
  }
  if (n >= 0) free(names);
}

static int run(int argc, char **argv) {
  test_run t = {.tol = {.rtol = 1e-3, .atol = 1e-7}, .threads = 0, .timeout_s = 120};
  const char *rtol = NULL, *atol = NULL, *atol_max = NULL, *threads = NULL, *timeout = NULL, *level = NULL, *cosine = NULL;
  cli_list paths = {.n = 0}, providers = {.n = 0};
  const cli_option options[] = {
      {"--rtol", NULL, &rtol, NULL},       {"--atol", NULL, &atol, NULL},       {"--atol-max", NULL, &atol_max, NULL},
      {"--threads", NULL, &threads, NULL}, {"--timeout", NULL, &timeout, NULL}, {"--provider", NULL, NULL, &providers},
      {"--level", NULL, &level, NULL},     {"--json", &t.json, NULL, NULL},    {"--cosine", NULL, &cosine, NULL},
  };
  long long n_threads = 0, timeout_s = t.timeout_s, optimize = OX_OPTIMIZE_ALL;
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &paths)) return EXIT_USAGE;
  if (!cli_parse_double("--rtol", rtol, &t.tol.rtol) || !cli_parse_double("--atol", atol, &t.tol.atol) ||
      !cli_parse_double("--atol-max", atol_max, &t.tol.atol_max) || !cli_parse_double("--cosine", cosine, &t.tol.cosine) || !cli_parse_int("--threads", threads, 0, &n_threads) ||
      !cli_parse_int("--timeout", timeout, 1, &timeout_s) || !cli_parse_int("--level", level, 0, &optimize) ||
      !cli_providers_parse(&providers, &t.providers))
    return EXIT_USAGE;
  if (!paths.n) {
    fprintf(stderr, "onyx test: which folder? (see onyx test --help)\n");
    return EXIT_USAGE;
  }
  t.threads = (unsigned)n_threads, t.timeout_s = (unsigned)timeout_s, t.optimize = (unsigned)optimize;
  cli_progress_start(&t.bar, "cases");
  for (size_t i = 0; i < paths.n; i++) {
    if (cli_is_dir(paths.items[i])) {
      walk(&t, paths.items[i]);
    } else if (is_light(paths.items[i])) {
      isolated_case(&t, paths.items[i]);
    } else {
      fprintf(stderr, "onyx test: no such folder: %s\n", paths.items[i]);
      t.failed++;
    }
  }
  cli_progress_end(&t.bar);
  printf("%zu passed, %zu failed, %zu skipped\n", t.passed, t.failed, t.skipped);
  return t.failed || !t.passed ? EXIT_FAILED : EXIT_OK;
}

const cli_command cmd_test = {
    "test", "runs folders of ONNX backend tests",
    "usage: onyx test PATH... [options]\n\n"
    "Runs every folder at or below PATH that holds model.onnx and test_data_set_N/{input,output}_N.pb, each in a process\n"
    "of its own. Types and shapes must be equal; numbers within rtol * |expected| + atol + atol-max * max |expected|; NaN\n"
    "equals NaN. A line per failure, then the counts. Also X.onnx beside X_output_N.pb (the light models of the backend\n"
    "tests), fed with element i of n = i / n. Of models that draw random numbers only types and shapes are compared.\n\n"
    "  --rtol R          relative tolerance (1e-3)\n"
    "  --atol A          absolute tolerance (1e-7)\n"
    "  --atol-max X      tolerance relative to the largest expected magnitude (0)\n"
    "  --cosine C        instead: the same largest element, and a cosine of at least C (quantized models)\n"
    "  --threads N       threads per case (0: as many as the machine allows)\n"
    "  --level L         0 none, 1 basic, 2 extended, 3 all optimizations (3)\n"
    "  --timeout S       seconds per case (120)\n"
    "  --provider NAME[:k=v,...]  ask this provider first; may be repeated\n"
    "  --json            a line of JSON per case\n",
    run};
