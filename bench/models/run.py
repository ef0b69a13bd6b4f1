#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times models in Onyx and in others, and writes a table, JSON and a chart.

Each figure comes from a process of its own: one peer, one model. Peers alternate inside a round, the order rotates, and
a figure is the median over rounds. Nobody is timed whose outputs differ. docs/bench-models.md tells how to read it."""
import argparse
import json
import pathlib
import shlex
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
try:
    import alternate
    import cases
except ImportError as e:
    sys.exit(f"{e}: needs numpy and onnx")
import chart
import report


def tolerances(spec):
    """"1e-3,NAME=0.02": one for all, and those of single models."""
    general, named = 1e-3, {}
    for item in spec.split(","):
        name, _, value = item.rpartition("=")
        if name:
            named[name] = float(value)
        else:
            general = float(value)
    return lambda model: named.get(model, general)


def caption(args, versions, what):
    isa = f" At most {args.isa}." if args.isa else ""
    return (f"{what}, medians of {args.rounds} rounds of {args.seconds:g} s, processes alternating. "
            f"{report.machine()}.{isa} {'; '.join(f'{k}: {v}' for k, v in versions.items())}. {args.command}")


def write_chart(args, keys, figures, versions):
    rivals = [k for k in keys[1:] if k != "base"] or keys[1:]
    groups, rows = [], {}
    for threads, models in figures.items():
        group = f"{threads} thread" + ("s" if threads > 1 else "")
        groups.append(group)
        for name, r in report.ratios(models, rivals, keys[0]).items():
            rows.setdefault(name, {})[group] = r
    who = rivals[0] if len(rivals) == 1 else "the better of " + ", ".join(rivals)
    title = f"Time of {who} divided by Onyx's: above 1, Onyx is faster"
    args.svg.write_text(chart.bars(title, groups, list(rows.items()), caption(args, versions, "Ratios")),
                        encoding="utf-8")


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+", help="folders (model.onnx, test_data_set_0/) or .onnx files")
    alternate.add_options(parser, seconds=2.0)
    parser.add_argument("--threads", default="1", help="numbers of threads, e.g. 1,2")
    parser.add_argument("--disturb", action="store_true", help="p99/median beside a process that wakes now and then")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a symbolic dimension, else 1")
    parser.add_argument("--tolerance", default="1e-3", help="of outputs' largest elements, e.g. 1e-3,resnet50_qdq=0.02")
    parser.add_argument("--json", type=pathlib.Path, help="every value, for other programs")
    parser.add_argument("--markdown", type=pathlib.Path, help="the tables, as printed")
    parser.add_argument("--svg", type=pathlib.Path, help="a chart of the ratios")
    args = parser.parse_args()
    args.command = shlex.join(["bench/models/run.py"] + sys.argv[1:])
    try:
        args.thread_counts = [int(t) for t in args.threads.split(",")]
        args.dims = {name: int(size) for name, size in (d.rsplit("=", 1) for d in args.dim)}
        args.allowed = tolerances(args.tolerance)
    except ValueError as e:
        parser.error(str(e))
    if args.rounds < 1 or min(args.thread_counts) < 1:
        parser.error("at least one round and one thread")
    return args


def prepare(paths, work, dims, notes):
    found = []
    for path in paths:
        try:
            found.append(cases.prepare(path, work, dims))
        except Exception as e:  # onnx and protobuf have errors of their own
            notes.append(f"{path}: {e}")
    return found


def print_report(args, keys, figures, versions, foreign, notes):
    """The Markdown: a table for each number of threads, what sums it up, and what was left out."""
    base = "base" if "base" in keys else None
    rivals = [k for k in keys[1:] if k != base]
    lines = []
    for threads, models in figures.items():
        lines += [f"### {threads} thread" + ("s" if threads > 1 else ""), "", *report.table(models, keys, base), ""]
        lines += [report.summary(models, rivals, keys[0], "better peer / ours"), ""] if rivals else []
        lines += [report.summary(models, [base], keys[0], "base / ours"), ""] if base else []
    lines += [caption(args, versions, "Times"), ""]
    if args.isa and "onnxruntime" in keys:
        lines += ["ONNX Runtime has no switch for --isa: Microsoft's library used all that the machine has.", ""]
    report.publish(lines, notes, foreign, args.markdown)


def main():
    args = options()
    everybody, versions = alternate.find_peers(args)
    if len(everybody) == 1:
        alternate.say("nobody to compare with: see --base, --ort and --openvino")
    work = pathlib.Path(tempfile.mkdtemp(prefix="bench-models-"))
    notes, samples, figures, foreign = [], {}, {}, []
    try:
        found = prepare(args.models, work, args.dims, notes)
        most = max(args.thread_counts)
        runners = {c: alternate.agreeing(c, everybody, most, args.allowed(c.name), notes) for c in found}
        runners = {case: who for case, who in runners.items() if who}
        for threads in args.thread_counts:
            samples[threads], busy = alternate.measure(runners, threads, args, notes, args.disturb)
            figures[threads] = {name: report.figures(s) for name, s in samples[threads].items()}
            foreign += busy
    finally:
        shutil.rmtree(work)
    keys = [p.key for p in everybody]
    print_report(args, keys, figures, versions, foreign, notes)
    if args.json:
        out = {"machine": report.machine(), "command": args.command, "versions": versions, "isa": args.isa,
               "rounds": args.rounds, "seconds": args.seconds, "foreign_percent": foreign, "notes": notes,
               "figures": figures, "samples": samples}
        args.json.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    if args.svg:
        write_chart(args, keys, figures, versions)
    return 1 if notes else 0


if __name__ == "__main__":
    sys.exit(main())
