#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single operators in Onyx and in others, worst first, beside what the machine can do at most.

Each figure comes from a process of its own; peers alternate inside a round, a figure is the median over rounds, and
nobody is timed whose outputs differ. docs/bench-models.md tells how to read it."""
import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "models")]
try:
    import alternate
    import cases
    import nodes
    import peers
except ImportError as e:
    sys.exit(f"{e}: needs numpy and onnx")
import report

TOLERANCE, STEP_OF_8_BITS = 1e-3, 1.01 / 127  # of the largest element; where results are rounded to 8 bits, one step


class Op:
    """A case, and what it has to do: operations and bytes in one run."""

    def __init__(self, case, model, inputs):
        self.case, self.model, self.inputs = case, model, inputs
        self.eight_bits = nodes.multiplies_in_8_bits(model)
        self.tolerance = STEP_OF_8_BITS if nodes.rounds_to_8_bits(model) else TOLERANCE
        self.flops = self.n_bytes = 0


def prepare(args, work, notes):
    chosen = re.compile(args.only) if args.only else re.compile("")
    ops = []
    for index, (name, *parts) in enumerate(nodes.entries(args.ops.read_text(encoding="utf-8"))):
        if not chosen.search(name):
            continue
        try:
            model, arrays = nodes.build(name, *parts)
            case = cases.write_case(model, arrays, str(index), work)
        except Exception as e:  # onnx's parser has errors of its own
            notes.append(f"{name}: {e}")
            continue
        case.name = name
        ops.append(Op(case, model, arrays))
    return ops


def add_costs(op, ours, notes):
    """Operations as `onyx info` counts them, or else we, and bytes."""
    try:
        facts = json.loads(peers.output_of([ours.program, "info", op.case.folder, "--json"], ours.env))
        outputs = ours.outputs(op.case, 1)
        op.flops = facts.get("flops", 0) or nodes.uncounted_flops(op.model, op.inputs, outputs)
        op.n_bytes = nodes.bytes_moved(op.model, op.inputs, outputs)
    except (peers.Failed, OSError) as e:
        notes.append(f"{op.case.name}: {e}")


def bandwidth(limits, n_bytes):
    """GB/s of reads from a buffer of that size: of the smallest measured that is not smaller."""
    sizes = sorted((int(size), gbs) for size, gbs in limits["read_gbs"].items())
    return next((gbs for size, gbs in sizes if size >= n_bytes), sizes[-1][1])


def against_limit(op, limits, ms):
    """(GFLOP/s or GB/s, its unit, % of the limit): of that which takes the machine longer at its best."""
    peak = limits.get("int8_gops", limits["float_gflops"]) if op.eight_bits else limits["float_gflops"]
    gbs = bandwidth(limits, op.n_bytes)
    compute_ms, memory_ms = op.flops / peak * 1e-6, op.n_bytes / gbs * 1e-6
    amount, unit = (op.flops, "GOP/s" if op.eight_bits else "GFLOP/s")
    if compute_ms < memory_ms:
        amount, unit = op.n_bytes, "GB/s"
    return amount / ms * 1e-6, unit, 100 * max(compute_ms, memory_ms) / ms


def table(ops, figures, keys, limits):
    """The worst first; those that nobody is compared with last."""
    rivals = [k for k in keys[1:] if k != "base"]
    compared = rivals or keys[1:]
    rows = []
    for op in ops:
        medians = figures.get(op.case.name, {})
        if keys[0] not in medians:
            continue
        r = report.ratio(medians, compared, keys[0])
        speed, unit, percent = against_limit(op, limits, medians[keys[0]]["median_ms"])
        row = [op.case.name] + [report.number(1e3 * medians[k]["median_ms"]) if k in medians else "-" for k in keys]
        row += [report.times(r)] + ([report.times(report.ratio(medians, ["base"], keys[0]))] if "base" in keys else [])
        rows.append((r is None, r, row + [f"{speed:.3g} {unit}", f"{percent:.0f}"]))
    rows.sort(key=lambda item: item[:2] if item[1] is not None else (True, 0))
    head = ["operator"] + [f"{k}, us" for k in keys] + ["ratio"] + (["base / ours"] if "base" in keys else [])
    return report.markdown([head + ["ours", "% of limit"]] + [row for _, _, row in rows])


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ops", type=pathlib.Path, default=HERE / "ops.txt", help="the list of operators")
    parser.add_argument("--only", metavar="REGEX", help="those whose names it is found in, e.g. '^conv|softmax'")
    parser.add_argument("--json", type=pathlib.Path, help="every value, for other programs")
    parser.add_argument("--markdown", type=pathlib.Path, help="the table, as printed")
    parser.add_argument("--limits", default="build/bench/limits", help="the program that measures the machine")
    alternate.add_options(parser, seconds=0.3)
    args = parser.parse_args()
    try:
        re.compile(args.only or "")
    except re.error as e:
        parser.error(f"--only: {e}")
    return args


def print_report(args, ops, figures, keys, versions, limits, foreign, notes):
    models = {op.case.name: figures[op.case.name] for op in ops if op.case.name in figures}
    rivals = [k for k in keys[1:] if k != "base"]
    lines = table(ops, models, keys, limits) + [""]
    lines += [report.summary(models, rivals, keys[0], "better peer / ours"), ""] if rivals else []
    lines += [report.summary(models, ["base"], keys[0], "base / ours"), ""] if "base" in keys else []
    sizes = ", ".join(f"{int(n) >> 10} KiB {gbs:.0f}" for n, gbs in limits["read_gbs"].items())
    lines += [f"One thread, medians of {args.rounds} rounds of {args.seconds:g} s. {report.machine()}. "
              f"{'; '.join(f'{k}: {v}' for k, v in versions.items())}.", "",
              f"Limits ({limits['isa']}): float32 {limits['float_gflops']:.0f} GFLOP/s, 8 bits "
              f"{limits.get('int8_gops', 0):.0f} GOP/s, reads in GB/s {sizes}.", ""]
    report.publish(lines, notes, foreign, args.markdown)


def main():
    args = options()
    everybody, versions = alternate.find_peers(args)
    notes, work = [], pathlib.Path(tempfile.mkdtemp(prefix="bench-ops-"))
    try:
        limits = json.loads(peers.output_of([args.limits] + ([args.isa] if args.isa else [])))
        ops = prepare(args, work, notes)
        for op in ops:
            add_costs(op, everybody[0], notes)
        runners = {op.case: alternate.agreeing(op.case, everybody, 1, op.tolerance, notes) for op in ops}
        runners = {case: who for case, who in runners.items() if who}
        samples, foreign = alternate.measure(runners, 1, args, notes)
    except (ValueError, OSError, peers.Failed) as e:
        sys.exit(str(e))
    finally:
        shutil.rmtree(work)
    figures = {name: report.figures(s) for name, s in samples.items()}
    print_report(args, ops, figures, [p.key for p in everybody], versions, limits, foreign, notes)
    if args.json:
        out = {"machine": report.machine(), "versions": versions, "isa": args.isa, "limits": limits,
               "foreign_percent": foreign, "notes": notes, "figures": figures, "samples": samples,
               "costs": {op.case.name: {"flops": op.flops, "bytes": op.n_bytes} for op in ops}}
        args.json.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    return 1 if notes else 0


if __name__ == "__main__":
    sys.exit(main())
