/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_test.c - onyx test: runs folders in the layout of ONNX's backend tests, each case in a process of its own. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_model.h"

typedef struct {
  ox_session_opts opts;
  size_t passed, failed, skipped;
  cli_progress bar;
} test_run;

static struct {
  cli_session_args session;
  cli_tolerance tol;
  long long timeout_s;
  bool json;
} args = {.session.level = OX_OPTIMIZE_ALL, .tol = {.rtol = 1e-3, .atol = 1e-7, .same_top = true}, .timeout_s = 120};

static const cli_option options[] = {
    CLI_TOLERANCE_OPTIONS(args.tol),
    CLI_NUMBER("cosine", "C", &args.tol.cosine,
               "unless 0, instead: the same largest element and a cosine of at least C"),
    CLI_INT("timeout", "S", &args.timeout_s, 1, UINT32_MAX, "seconds per case"),
    CLI_FLAG("json", &args.json, "a line of JSON per case, then one of the counts"),
    CLI_SESSION_OPTIONS(args.session),
};

enum { WHY = 1024, PATH_BYTES = 4096 };

typedef enum { PASSED = 0, FAILED = 1, SKIPPED = 2 } verdict; /* also what a case's process exits with */

/* ---- one data set ---- */

typedef struct {
  ox_env *env;
  ox_session *session;
  cli_inputs in;
  ox_value **out;
  size_t n_out;
  size_t n_compared; /* outputs, over all data sets */
} case_io;

/* The backend tests' stand-in for recorded inputs of light models: element i of n is i / n. */
static ox_status *ramp_inputs(case_io *io) {
  for (; io->in.n < io->in.most; io->in.n++) {
    ox_value_info info;
    int64_t dims[OX_MAX_RANK];
    ox_value **at = &io->in.values[io->in.n];
    ox_status *st = ox_session_input(io->session, io->in.n, &info);
    if (st) return st;
    if (info.dtype != OX_F32 || info.kind != OX_TENSOR || info.rank < 0)
      return ox_task_error(OX_INVALID_ARGUMENT, "only float32 inputs can be made up");
    for (int d = 0; d < info.rank; d++) dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
    if ((st = ox_value_create(io->env, OX_F32, dims, (size_t)info.rank, at))) return st;
    int64_t n = ox_tensor_count(ox_value_get(*at));
    for (int64_t k = 0; k < n; k++) ((float *)ox_value_data(*at))[k] = (float)((double)k / (double)n);
    io->in.names[io->in.n] = info.name;
  }
  return NULL;
}

/* |prefix|: the outputs lie in <prefix>output_N.pb */
static bool check_outputs(case_io *io, const char *prefix, char *why) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < io->n_out; i++) {
    ox_value *want = NULL;
    ox_value_info info;
    char what[WHY];
    ox_status_free(ox_session_output(io->session, i, &info));
    snprintf(path, sizeof path, "%soutput_%zu.pb", prefix, i);
    if (!cli_exists(path)) continue; /* an output that the test does not speak of */
    if (!cli_load_value(io->env, path, &info, &want, why, WHY)) return false;
    cli_tolerance t = args.tol;
    t.shapes_only = ox_session_is_random(io->session) != 0;
    io->n_compared++;
    bool equal = cli_equal(ox_value_get(io->out[i]), ox_value_get(want), &t, what, sizeof what);
    ox_value_release(want);
    if (equal) continue;
    snprintf(why, WHY, "output '%s': %s", info.name, what);
    return false;
  }
  return true;
}

static ox_status *fill_and_run(case_io *io, const char *set) {
  io->n_out = ox_session_output_count(io->session);
  io->out = calloc(io->n_out + 1, sizeof *io->out);
  if (!io->out) return ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  ox_status *st = cli_inputs_init(io->session, &io->in);
  if (!st) st = set ? cli_inputs_from_set(io->env, io->session, set, &io->in) : ramp_inputs(io);
  if (st) return st;
  return ox_session_run(io->session, NULL, io->in.names, (const ox_value *const *)io->in.values, io->in.n, NULL,
                        io->out, io->n_out);
}

/* |set| NULL: made-up inputs */
static bool run_set(case_io *io, const char *set, const char *prefix, char *why) {
  ox_status *st = fill_and_run(io, set);
  if (st) snprintf(why, WHY, "%s", ox_status_message(st));
  bool ok = !st && check_outputs(io, prefix, why);
  ox_status_free(st);
  cli_inputs_release(&io->in);
  for (size_t i = 0; i < io->n_out && io->out; i++) ox_value_release(io->out[i]);
  free(io->out);
  io->in = (cli_inputs){0}, io->out = NULL;
  return ok;
}

static bool run_sets(case_io *io, const char *dir, char *why) {
  char set[PATH_BYTES], prefix[PATH_BYTES + 1];
  bool ok = true;
  size_t sets = 0;
  for (; ok; sets++) {
    snprintf(set, sizeof set, "%s/test_data_set_%zu", dir, sets);
    if (!cli_is_dir(set)) break;
    snprintf(prefix, sizeof prefix, "%s/", set);
    ok = run_set(io, set, prefix, why);
  }
  if (ok && !sets) snprintf(why, WHY, "no test_data_set_0");
  return ok && sets;
}

/* A folder with model.onnx and its data sets, or a light model: X.onnx beside X_output_N.pb. Runs in the child. */
static verdict run_case(const test_run *t, const char *where, char *why) {
  static case_io io;
  char path[PATH_BYTES];
  bool light = !cli_is_dir(where);
  snprintf(path, sizeof path, light ? "%s" : "%s/model.onnx", where);
  ox_status *st = cli_env_create(&args.session.providers, false, &io.env);
  if (!st) st = ox_session_create_file(io.env, path, &t->opts, &io.session);
  bool ok = st == NULL;
  if (st) snprintf(why, WHY, "%s", ox_status_message(st));
  ox_status_free(st);
  if (ok && light) {
    snprintf(path, sizeof path, "%.*s_", (int)(strlen(where) - strlen(".onnx")), where);
    ok = run_set(&io, NULL, path, why);
  } else if (ok) {
    ok = run_sets(&io, where, why);
  }
  ox_session_release(io.session);
  ox_env_release(io.env);
  if (!ok || io.n_compared) return ok ? PASSED : FAILED;
  snprintf(why, WHY, "there is no expected output");
  return SKIPPED;
}

/* ---- isolation ---- */

static void report(test_run *t, const char *dir, verdict v, const char *why) {
  if (v != PASSED) cli_progress_end(&t->bar);
  (*(v == PASSED ? &t->passed : v == SKIPPED ? &t->skipped : &t->failed))++;
  if (args.json) {
    ox_json j = cli_json();
    ox_json_begin_object(&j);
    ox_json_string(ox_json_key(&j, "case"), dir);
    ox_json_bool(ox_json_key(&j, "passed"), v == PASSED);
    ox_json_bool(ox_json_key(&j, "skipped"), v == SKIPPED);
    ox_json_string(ox_json_key(&j, "why"), v == PASSED ? "" : why);
    ox_json_end_object(&j);
    ox_json_end(&j);
  } else if (v != PASSED) {
    printf("%s %s: %s\n", v == SKIPPED ? "skipped" : "FAILED", dir, why);
  }
}

static void report_counts(const test_run *t) {
  if (!args.json) {
    printf("%zu passed, %zu failed, %zu skipped\n", t->passed, t->failed, t->skipped);
    return;
  }
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_begin_object(ox_json_key(&j, "counts"));
  ox_json_uint(ox_json_key(&j, "passed"), t->passed);
  ox_json_uint(ox_json_key(&j, "failed"), t->failed);
  ox_json_uint(ox_json_key(&j, "skipped"), t->skipped);
  ox_json_end_object(&j);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static void isolated_case(test_run *t, const char *dir) {
  int fds[2];
  char why[WHY] = "";
  cli_progress_at(&t->bar, -1, t->passed + t->failed + t->skipped);
  fflush(NULL);
  if (pipe(fds) != 0) {
    report(t, dir, FAILED, "no pipe");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    close(fds[0]);
    alarm((unsigned)args.timeout_s);
    verdict v = run_case(t, dir, why);
    if (v != PASSED && write(fds[1], why, strlen(why)) < 0) _exit(3);
    _exit(v);
  }
  close(fds[1]);
  size_t n = 0;
  for (ssize_t got; child > 0 && (got = read(fds[0], why + n, sizeof why - 1 - n)) > 0;) n += (size_t)got;
  why[n] = 0;
  close(fds[0]);
  int code = 1;
  if (child < 0 || waitpid(child, &code, 0) != child)
    snprintf(why, sizeof why, "no process");
  else if (WIFSIGNALED(code) && WTERMSIG(code) == SIGALRM)
    snprintf(why, sizeof why, "not done after %lld s", args.timeout_s);
  else if (WIFSIGNALED(code))
    snprintf(why, sizeof why, "crashed by signal %d (%s)", WTERMSIG(code), strsignal(WTERMSIG(code)));
  verdict v = WIFEXITED(code) && WEXITSTATUS(code) <= SKIPPED ? (verdict)WEXITSTATUS(code) : FAILED;
  report(t, dir, v, why[0] ? why : "ended without a reason");
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
    if (fits && cli_is_dir(below))
      walk(t, below);
    else if (fits && is_light(below))
      isolated_case(t, below);
    free(names[i]);
  }
  if (n >= 0) free(names);
}

static int run(const cli_operands *paths) {
  test_run t = {.passed = 0};
  if (!cli_session_opts(&args.session, &t.opts)) return EXIT_USAGE;
  cli_progress_start(&t.bar, "cases");
  for (size_t i = 0; i < paths->n; i++) {
    if (cli_is_dir(paths->items[i])) {
      walk(&t, paths->items[i]);
    } else if (is_light(paths->items[i])) {
      isolated_case(&t, paths->items[i]);
    } else {
      fprintf(stderr, "onyx test: no such folder: %s\n", paths->items[i]);
      t.failed++;
    }
  }
  cli_progress_end(&t.bar);
  if (!t.passed && !t.failed && !t.skipped)
    fprintf(stderr, "onyx test: no case found: a case is a folder with model.onnx\n");
  report_counts(&t);
  return t.failed || !t.passed ? EXIT_FAILED : EXIT_OK;
}

const cli_command cmd_test = {
    .name = "test",
    .summary = "runs folders of ONNX backend tests",
    .about =
        "Runs every case at or below PATH, each in a process of its own. A case is a folder that holds model.onnx\n"
        "and test_data_set_N/{input,output}_N.pb, or X.onnx beside X_output_N.pb (the light models of the backend\n"
        "tests; element i of an input of n elements is then i / n). Types and shapes must be equal, and numbers\n"
        "within rtol * |expected| + atol + atol-max * max |expected|; NaN equals NaN. If the model draws random\n"
        "numbers, only types and shapes are compared; a case without expected outputs is skipped. Prints a line\n"
        "for each case that failed or was skipped, then the counts.",
    .operand = "PATH",
    .many = true,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
