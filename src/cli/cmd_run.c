/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_run.c - onyx run: feeds a model from files or random numbers, prints and writes its outputs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_model.h"
#include "npy.h"

enum { WHY = 1024 };

typedef struct {
  cli_model m;
  cli_inputs in;
  ox_value *out[CLI_MOST];
  size_t n_out;
  const char *dir;
} run_state;

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

static bool find_input(const run_state *r, const char *name, ox_value_info *info) {
  for (size_t i = 0; i < ox_session_input_count(r->m.session); i++) {
    ox_status_free(ox_session_input(r->m.session, i, info));
    if (strcmp(info->name, name) == 0) return true;
  }
  return false;
}

/* One --input NAME=FILE or NAME=random[:seed]. */
static bool add_input(run_state *r, const char *text, unsigned *seed, char *why) {
  static char names[CLI_MOST][256];
  ox_value_info info;
  const char *eq = strchr(text, '=');
  if (strncmp(text, "random", 6) == 0 && !eq) {
    if (text[6] == ':') *seed = (unsigned)strtoul(text + 7, NULL, 10);
    return true;
  }
  if (!eq || (size_t)(eq - text) >= sizeof names[0] || r->in.n == CLI_MOST) {
    snprintf(why, WHY, "--input wants NAME=FILE, got '%s'", text);
    return false;
  }
  char *name = names[r->in.n];
  memcpy(name, text, (size_t)(eq - text)), name[eq - text] = 0;
  if (!find_input(r, name, &info)) {
    snprintf(why, WHY, "the model has no input '%s'", name);
    return false;
  }
  if (strncmp(eq + 1, "random", 6) == 0) {
    if (eq[7] == ':') *seed = (unsigned)strtoul(eq + 8, NULL, 10);
    return true; /* filled with the others */
  }
  bool ok = ends_with(eq + 1, ".npy") ? npy_read(r->m.env, eq + 1, &r->in.values[r->in.n], why, WHY)
                                      : cli_load_pb(r->m.env, eq + 1, info.optional ? OX_NONE_VALUE : info.kind, &r->in.values[r->in.n], why, WHY);
  if (ok) r->in.names[r->in.n++] = name;
  return ok;
}

static void print_summary(const ox_tensor *t) {
  int64_t n = ox_tensor_count(t), best = 0;
  double least = INFINITY, most = -INFINITY, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = ox_tensor_element(t, i);
    if (isnan(v)) {
      nans++;
      continue;
    }
    if (v > most) most = v, best = i;
    if (v < least) least = v;
    sum += v;
  }
  if (n > nans) printf("  min %.6g  max %.6g (at %lld)  mean %.6g", least, most, (long long)best, sum / (double)(n - nans));
  if (nans) printf("  %lld NaN", (long long)nans);
}

static void print_first(const ox_tensor *t) {
  int64_t n = ox_tensor_count(t);
  printf("  [");
  for (int64_t i = 0; i < n && i < 8; i++) {
    if (t->dtype == OX_STRING) {
      const ox_str *s = (const ox_str *)t->data + i;
      printf("%s\"%.*s\"", i ? ", " : "", (int)s->n, s->p);
    } else {
      printf("%s%.6g", i ? ", " : "", ox_tensor_element(t, i));
    }
  }
  printf("%s]", n > 8 ? ", ..." : "");
}

static void print_value(const char *name, const ox_tensor *t) {
  if (t->kind == OX_SEQUENCE) {
    printf("%s: sequence of %lld\n", name, (long long)t->shape.dim[0]);
    return;
  }
  if (t->kind != OX_TENSOR) {
    printf("%s: %s\n", name, t->kind == OX_MAP ? "map" : t->kind == OX_SPARSE ? "sparse tensor" : "nothing");
    return;
  }
  printf("%s: %s[", name, ox_type_name(t->dtype));
  for (int i = 0; i < t->shape.rank; i++) printf("%s%lld", i ? "," : "", (long long)t->shape.dim[i]);
  printf("]");
  if (t->dtype != OX_STRING && ox_tensor_count(t) > 8) print_summary(t);
  print_first(t);
  printf("\n");
}

static void print_json(const char *name, const ox_tensor *t, bool first) {
  printf("%s{\"name\": ", first ? "" : ", ");
  cli_json_string(stdout, name);
  printf(", \"kind\": %u, \"type\": \"%s\", \"shape\": [", t->kind, ox_type_name(t->dtype));
  for (int i = 0; i < t->shape.rank; i++) printf("%s%lld", i ? ", " : "", (long long)t->shape.dim[i]);
  printf("]}");
}

static int write_bytes(void *ctx, const void *bytes, size_t n) { return fwrite(bytes, 1, n, ctx) != n; }

/* NAME.npy where NumPy has the type, else NAME.pb; characters that do not fit a file name become '_'. */
static bool write_value(const char *dir, const char *name, const ox_value *v, char *why) {
  char path[4096], safe[256];
  size_t n = 0;
  for (; name[n] && n + 1 < sizeof safe; n++) safe[n] = strchr("/\\:*?\"<>|", name[n]) ? '_' : name[n];
  safe[n] = 0;
  snprintf(path, sizeof path, "%s/%s.npy", dir, safe);
  if (npy_write(path, ox_value_get(v), why, WHY)) return true;
  snprintf(path, sizeof path, "%s/%s.pb", dir, safe);
  FILE *f = fopen(path, "wb");
  ox_status *st = f ? ox_value_serialize(v, name, write_bytes, f) : NULL;
  bool ok = f && !st;
  if (f && fclose(f) != 0) ok = false;
  if (!ok) snprintf(why, WHY, "%s: %s", path, st ? ox_status_message(st) : strerror(errno));
  ox_status_free(st);
  return ok;
}

static bool show(run_state *r, char *why) {
  if (r->m.json) printf("{\"outputs\": [");
  for (size_t i = 0; i < r->n_out; i++) {
    ox_value_info info;
    ox_status_free(ox_session_output(r->m.session, i, &info));
    if (r->m.json) print_json(info.name, ox_value_get(r->out[i]), i == 0);
    else print_value(info.name, ox_value_get(r->out[i]));
    if (r->dir && !write_value(r->dir, info.name, r->out[i], why)) return false;
  }
  if (r->m.json) printf("]}\n");
  return true;
}

static int work(run_state *r, const cli_list *inputs) {
  char why[WHY] = "";
  unsigned seed = 0;
  ox_status *st = NULL;
  if (r->m.is_dir && !inputs->n) st = cli_model_inputs(&r->m, &r->in);
  for (size_t i = 0; !st && i < inputs->n; i++)
    if (!add_input(r, inputs->items[i], &seed, why)) goto failed;
  if (!st) st = cli_inputs_random(r->m.env, r->m.session, seed, &r->m.dims, &r->in);
  if (!st) {
    r->n_out = ox_session_output_count(r->m.session);
    if (r->n_out > CLI_MOST) r->n_out = CLI_MOST;
    st = ox_session_run(r->m.session, NULL, r->in.names, (const ox_value *const *)r->in.values, r->in.n, NULL, r->out, r->n_out);
  }
  if (st) return cli_fail(st);
  if (r->dir && mkdir(r->dir, 0777) != 0 && errno != EEXIST) {
    snprintf(why, sizeof why, "%s: %s", r->dir, strerror(errno));
    goto failed;
  }
  if (show(r, why)) return EXIT_OK;
failed:
  fprintf(stderr, "onyx: %s\n", why);
  return EXIT_FAILED;
}

static int run(int argc, char **argv) {
  static run_state r;
  cli_list inputs = {.n = 0};
  const cli_option options[] = {CLI_MODEL_ROWS(&r.m), {"--input", NULL, NULL, &inputs}, {"--output", NULL, &r.dir, NULL}};
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &r.m.paths)) return EXIT_USAGE;
  int code = cli_model_open(&r.m, "run", false);
  if (code == EXIT_OK) code = work(&r, &inputs);
  for (size_t i = 0; i < r.n_out; i++) ox_value_release(r.out[i]);
  cli_inputs_release(&r.in);
  cli_model_close(&r.m);
  return code;
}

const cli_command cmd_run = {
    "run", "runs a model once",
    "usage: onyx run MODEL [options]\n\n"
    "Runs the model and prints each output's name, type, shape and a summary. Inputs that are not given get random\n"
    "numbers. MODEL may be a folder with model.onnx and test_data_set_0/.\n\n"
    "  --input NAME=FILE   a TensorProto (.pb) or NumPy file (.npy); NAME=random or random[:SEED]; may be repeated\n"
    "  --output DIR        write each output to DIR/NAME.npy (.pb where NumPy has no such type)\n"
    CLI_MODEL_HELP,
    run};
