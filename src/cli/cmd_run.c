/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_run.c - onyx run: feeds a model from files or random numbers, prints and writes its outputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_model.h"
#include "describe.h"
#include "not_finite.h"
#include "npy.h"

enum { WHY = 1024 };

static struct {
  cli_model model;
  cli_list inputs;
  char *output;
} args = {.model.args.level = OX_OPTIMIZE_ALL};

static const cli_option options[] = {
    CLI_LIST("input", "NAME=FILE", &args.inputs,
             "a recorded value (.pb: TensorProto, SequenceProto ...) or a NumPy file (.npy);\n"
             "NAME=random[:SEED]: random numbers; random[:SEED]: for the rest"),
    CLI_TEXT("output", "DIR", &args.output, "write each output to DIR/NAME.npy (.pb where NumPy has no such type)"),
    CLI_FLAG("trace-nan", &args.model.args.all_values,
             "instead of the outputs, tell which node first makes a NaN, and which an infinity"),
    CLI_MODEL_OPTIONS(args.model),
};

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* ---- inputs ---- */

/* "random" or "random:SEED" */
static bool is_random(const char *text, unsigned *seed) {
  char *end;
  if (strcmp(text, "random") == 0) return true;
  if (strncmp(text, "random:", 7) != 0) return false;
  unsigned long v = strtoul(text + 7, &end, 10);
  if (!text[7] || *end) return false;
  *seed = (unsigned)v;
  return true;
}

static bool check_inputs(const cli_list *texts) {
  unsigned seed;
  for (size_t i = 0; i < texts->n; i++) {
    const char *text = texts->items[i];
    if (is_random(text, &seed) || (strchr(text, '=') && text[0] != '=')) continue;
    fprintf(stderr, "onyx run: --input wants NAME=FILE, got '%s'\n", text);
    return false;
  }
  return true;
}

static bool find_input(const ox_session *s, const char *name, ox_value_info *out) {
  for (size_t i = 0; i < ox_session_input_count(s); i++) {
    ox_status_free(ox_session_input(s, i, out));
    if (strcmp(out->name, name) == 0) return true;
  }
  return false;
}

/* "the model has no input 'x'; it has 'a', 'b'" */
static void no_such_input(const ox_session *s, const char *name, char *why) {
  ox_value_info info;
  size_t n = (size_t)snprintf(why, WHY, "the model has no input '%s'; it has", name);
  for (size_t i = 0; i < ox_session_input_count(s) && n < WHY; i++) {
    ox_status_free(ox_session_input(s, i, &info));
    n += (size_t)snprintf(why + n, WHY - n, "%s '%s'", i ? "," : "", info.name);
  }
  if (!ox_session_input_count(s) && n < WHY) snprintf(why + n, WHY - n, " none");
}

/* One --input, cut in two where it stands. What is random is filled with the others, later. */
static bool add_input(cli_model *m, char *text, unsigned *seed, char *why) {
  ox_value_info info;
  char *eq = strchr(text, '=');
  if (is_random(text, seed)) return true;
  *eq = 0;
  const char *file = eq + 1;
  if (!find_input(m->session, text, &info)) {
    no_such_input(m->session, text, why);
    return false;
  }
  if (cli_inputs_have(&m->in, text)) {
    snprintf(why, WHY, "the input '%s' is given twice", text);
    return false;
  }
  if (is_random(file, seed)) return true;
  ox_value **at = &m->in.values[m->in.n];
  bool ok = ends_with(file, ".npy") ? npy_read(m->env, file, at, why, WHY)
                                    : cli_load_value(m->env, file, &info, at, why, WHY);
  if (ok) m->in.names[m->in.n++] = info.name;
  return ok;
}

/* ---- outputs ---- */

static void write_json(ox_json *j, const char *name, const ox_tensor *t) {
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "name"), name);
  cli_describe_json(j, t);
  ox_json_end_object(j);
}

static void show(const cli_model *m) {
  ox_json j = cli_json();
  if (m->json) {
    ox_json_begin_object(&j);
    ox_json_begin_array(ox_json_key(&j, "outputs"));
  }
  for (size_t i = 0; i < m->n_out; i++) {
    ox_value_info info;
    ox_status_free(ox_session_output(m->session, i, &info));
    const ox_tensor *t = ox_value_get(m->out[i]);
    m->json ? write_json(&j, info.name, t) : cli_describe(info.name, t);
  }
  if (!m->json) return;
  ox_json_end_array(&j);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

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
  ox_status *st = f ? ox_value_serialize(v, name, cli_write, f) : NULL;
  bool ok = f && !st;
  if (f && fclose(f) != 0) ok = false;
  if (!ok) snprintf(why, WHY, "%s: %s", path, st ? ox_status_message(st) : strerror(errno));
  ox_status_free(st);
  return ok;
}

static bool write_values(const cli_model *m, const char *dir, char *why) {
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
    snprintf(why, WHY, "%s: %s", dir, strerror(errno));
    return false;
  }
  for (size_t i = 0; i < m->n_out; i++) {
    ox_value_info info;
    ox_status_free(ox_session_output(m->session, i, &info));
    if (!write_value(dir, info.name, m->out[i], why)) return false;
  }
  return true;
}

/* ---- the command ---- */

static int work(cli_model *m) {
  char why[WHY] = "";
  unsigned seed = 0;
  for (size_t i = 0; i < args.inputs.n; i++)
    if (!add_input(m, args.inputs.items[i], &seed, why)) goto failed;
  ox_status *st = m->is_dir && !args.inputs.n ? cli_model_fill(m) : NULL;
  if (!st) st = cli_inputs_random(m->env, m->session, seed, &m->dims, &m->in);
  if (!st) st = cli_model_run(m);
  if (st) return cli_fail(st);
  if (m->args.all_values) return cli_tell_not_finite(m) ? EXIT_FAILED : EXIT_OK;
  show(m);
  if (!args.output || write_values(m, args.output, why)) return EXIT_OK;
failed:
  fprintf(stderr, "onyx: %s\n", why);
  return EXIT_FAILED;
}

static int run(const cli_operands *operands) {
  if (!check_inputs(&args.inputs)) return EXIT_USAGE;
  int code = cli_model_open(&args.model, operands, false);
  if (code == EXIT_OK) code = work(&args.model);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_run = {
    .name = "run",
    .summary = "runs a model once",
    .about =
        "Runs the model and prints each output's name, type, shape and a summary. Inputs that are not given get\n"
        "random numbers. A DIR holds model.onnx and test_data_set_0/. --trace-nan keeps all values of the run, and\n"
        "fails if one of them is not a number.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
