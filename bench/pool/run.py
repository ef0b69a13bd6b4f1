#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of bench/pool in turn and prints one table for each workload.

Each run is a process of its own: one contender, one workload. Contenders alternate inside a round, the order rotates
from round to round, and a figure is the median over rounds. docs/bench-pool.md tells how to read the tables."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from quiet import BUSY_WARNING, Foreign

RUN_LIMIT_S = 60


def discover(folder):
    """{contender: program}, {workload: title}; says what cannot run here."""
    contenders, workloads = {}, {}
    for program in sorted(folder.glob("pool_bench.*")):
        listing = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in listing.splitlines():
            kind, name, text = line.split("|")
            if kind == "workload":
                workloads[name] = text
            elif text:
                print(f"without {name}: {text}", file=sys.stderr)
            else:
                contenders[name] = program
    order = sorted(contenders, key=lambda name: (not name.startswith("onyx"), name))
    return {name: contenders[name] for name in order}, dict(sorted(workloads.items()))


def run_once(program, contender, workload, threads):
    """[(column, "less", "more" or "fact", value)]; None: it failed."""
    command = [program, contender, workload, str(threads)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"{contender} {workload}: no end within {RUN_LIMIT_S} s", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"{contender} {workload}: exit code {done.returncode}", file=sys.stderr)
        return None
    rows = (line.split("|") for line in done.stdout.splitlines())
    return [(column, better, float(value)) for column, better, value in rows]


def measure(contenders, workloads, threads, rounds):
    """{workload: {contender: {column key: [a value for each round]}}}, {workload: {key: (column, better)}}, foreign %"""
    values = {w: {c: {} for c in contenders} for w in workloads}
    columns = {w: {} for w in workloads}
    foreign = []
    names = list(contenders)
    for turn in range(rounds):
        seen = Foreign()
        for w in workloads:
            shift = (turn * max(1, len(names) // rounds)) % len(names)
            for c in names[shift:] + names[:shift]:
                previous = ""
                for column, better, value in run_once(contenders[c], c, w, threads) or []:
                    key = f"{previous} {column}" if column in ("p99", "slowdown") else column
                    previous = column
                    columns[w].setdefault(key, (column, better))
                    values[w][c].setdefault(key, []).append(value)
        foreign.append(seen.percent())
        print(f"round {turn + 1} of {rounds}: others used {foreign[-1]:.1f} % of the machine", file=sys.stderr)
    return values, columns, foreign


def show(number):
    if number is None:
        return "-"
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def compare(medians, key, better, ours):
    """ours / best rival, and the rival's name."""
    rivals = {c: m[key] for c, m in medians.items() if key in m and not c.startswith("onyx")}
    if better == "fact" or key not in medians.get(ours, {}) or not rivals:
        return "-", "-"
    best = (min if better == "less" else max)(rivals, key=rivals.get)
    return (f"{medians[ours][key] / rivals[best]:.2f}" if rivals[best] else "-"), best


def table(title, values, columns):
    """Lines of a Markdown table; the column heads say with < and > what is better."""
    medians = {c: {k: statistics.median(v) for k, v in m.items()} for c, m in values.items() if m}
    sign = {"less": " <", "more": " >", "fact": ""}
    rows = [[""] + [column + sign[better] for column, better in columns.values()]]
    for c, m in medians.items():
        rows.append([c] + [show(m.get(k)) for k in columns])
    for c in medians:
        if c.startswith("onyx"):
            rows.append([f"{c} / best rival"] + [compare(medians, k, b, c)[0] for k, (_, b) in columns.items()])
    ours = next(iter(medians), "")
    rows.append(["best rival"] + [compare(medians, k, b, ours)[1] for k, (_, b) in columns.items()])
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join([r[0].ljust(widths[0])] + [x.rjust(n) for x, n in zip(r[1:], widths[1:])]) + " |"
             for r in rows]
    rule = "|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (n + 1) + ":" for n in widths[1:]]) + "|"
    return [title, "", lines[0], rule] + lines[1:] + [""]


def pick(wanted, known, what):
    names = wanted.split(",") if wanted else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"no {what} {name}; there are {', '.join(known)}")
    return {name: known[name] for name in known if name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/bench"), help="folder of pool_bench.*")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="workloads, e.g. W1,W3")
    parser.add_argument("--contenders", help="e.g. onyx,tbb")
    parser.add_argument("--json", type=pathlib.Path, help="every value, for other programs")
    args = parser.parse_args()
    contenders, workloads = discover(args.programs)
    if not contenders:
        sys.exit(f"no programs in {args.programs}; build the target bench.pool")
    contenders = pick(args.contenders, contenders, "contender")
    workloads = pick(args.only, workloads, "workload")
    values, columns, foreign = measure(contenders, workloads, args.threads, args.rounds)
    for w, title in workloads.items():
        print("\n".join(table(f"### {w}: {title} ({args.threads} threads)", values[w], columns[w])))
    if max(foreign) > BUSY_WARNING:
        print(f"WARNING: other programs used up to {max(foreign):.0f} % of the machine; measure again when it is quiet")
    if args.json:
        out = {"threads": args.threads, "rounds": args.rounds, "foreign_percent": foreign, "values": values}
        args.json.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
