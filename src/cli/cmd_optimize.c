/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_optimize.c - onyx optimize: writes the graph as it would run. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file_replace.h"
#include "verification.h"

static struct {
  cli_model model;
  char *output;
  bool text, verify;
  cli_tolerance tol;
} args = {.model.args.level = OX_OPTIMIZE_ALL, .tol = {.rtol = 1e-3, .atol = 1e-7, .atol_max = 1e-3}};

static const cli_option options[] = {
    {.name = "output", .letter = 'o', .arg = "OUT", .help = "the file to write", .text = &args.output},
    CLI_FLAG("text", &args.text, "write ONNX's textual syntax"),
    CLI_TEXT("dump-before", "RULE", &args.model.args.dump_before,
             "print the model to standard error before each application of this rule or\npass"),
    CLI_TEXT("dump-after", "RULE", &args.model.args.dump_after, "the same after it"),
    CLI_FLAG("verify", &args.verify, "compare the values of the optimized model with those of the model"),
    CLI_TOLERANCE_OPTIONS(args.tol),
    CLI_NUMBER("cosine", "C", &args.tol.cosine, "unless 0, instead: a cosine of at least C, for quantized models"),
    CLI_MODEL_OPTIONS(args.model),
};

/* ---- work ---- */

static ox_status *cannot_write(void) {
  char why[4096];
  snprintf(why, sizeof why, "%s: %s", args.output, strerror(errno));
  return ox_task_error(OX_FAIL, why);
}

static ox_status *write_model(const cli_model *m) {
  ox_file_replace r; /* the output may be the model's own file, which is mapped */
  if (!ox_file_replace_open(&r, args.output)) return cannot_write();
  ox_status *st = ox_session_write(m->session, args.text ? OX_WRITE_TEXT : OX_WRITE_MODEL, cli_write, r.file);
  if (st && ferror(r.file)) { /* the file refused, not the model: errno says more */
    ox_status_free(st);
    st = cannot_write();
  }
  if (!ox_file_replace_close(&r, !st) && !st) st = cannot_write();
  return st;
}

static ox_status *work(cli_model *m, cli_verification *v) {
  ox_status *st = args.output ? write_model(m) : NULL;
  if (!st && args.verify) st = cli_model_fill(m);
  if (!st && args.verify) st = cli_verify(m, &args.tol, v);
  return st;
}

/* ---- telling ---- */

static void tell_json(const cli_verification *v, uint64_t nodes, uint64_t parameters) {
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_uint(ox_json_key(&j, "nodes"), nodes);
  ox_json_uint(ox_json_key(&j, "parameters"), parameters);
  if (args.verify) cli_verification_json(v, ox_json_key(&j, "verify"));
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static void tell(const cli_model *m, const cli_verification *v) {
  uint64_t parameters, bytes, nodes;
  ox_session_size(m->session, &parameters, &bytes, &nodes);
  if (m->json) {
    tell_json(v, nodes, parameters);
    return;
  }
  if (args.output) printf("%s: %" PRIu64 " nodes, %" PRIu64 " parameters\n", args.output, nodes, parameters);
  if (args.verify) cli_verification_print(v);
}

static bool has_work(void) {
  if (args.output || args.verify || args.model.args.dump_before || args.model.args.dump_after) return true;
  fprintf(stderr, "onyx optimize: an option is missing: --output (see onyx optimize --help)\n");
  return false;
}

static int run(const cli_operands *operands) {
  static cli_verification v;
  if (!has_work()) return EXIT_USAGE;
  int code = cli_model_open(&args.model, operands, true);
  ox_status *st = code == EXIT_OK ? work(&args.model, &v) : NULL;
  if (st)
    code = cli_fail(st);
  else if (code == EXIT_OK)
    tell(&args.model, &v);
  if (code == EXIT_OK && args.verify && !v.found.agrees) code = EXIT_FAILED;
  cli_verification_release(&v);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_optimize = {
    .name = "optimize",
    .summary = "writes the optimized model",
    .about =
        "Writes the graph as it would run. From level 2 on it holds operators of com.microsoft and ai.onyx. OUT may\n"
        "be the model's own file. --output is not needed with --dump-before, --dump-after or --verify. --verify runs\n"
        "the model as it is and the optimized one on the inputs of DIR/test_data_set_0, or on random ones, and\n"
        "compares all values that still exist under their names, as onyx test does; values that depend on random\n"
        "numbers are left out. It prints the first value that differs, the node that computes it, and the rules to\n"
        "blame.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
