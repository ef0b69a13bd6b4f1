# SPDX-License-Identifier: Apache-2.0
"""From times to tables: medians over rounds, ratios, and what sums them up."""
import math
import os
import pathlib
import statistics

from quiet import BUSY_WARNING


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    facts = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
    facts = {k.strip(): v.strip() for k, v in facts.items()}
    flags = set(facts.get("flags", "").split())
    isas = [name for name, flag in (("AVX2", "avx2"), ("AVX-512", "avx512f"), ("VNNI", "avx512_vnni"),
                                    ("AMX", "amx_int8")) if flag in flags]
    name = facts.get("model name", os.uname().machine)
    return f"{len(os.sched_getaffinity(0))} processors, {name}" + (f" ({', '.join(isas)})" if isas else "")


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def figures(samples):
    """{peer: {field: median over rounds}} of {peer: [a process's times]}; ready: load and first run."""
    out = {}
    for peer, runs in samples.items():
        if not runs:
            continue
        f = {k: statistics.median(r[k] for r in runs) for k in ("median_ms", "load_ms", "peak_rss_mb")}
        f["ready_ms"] = statistics.median(r["load_ms"] + r["first_ms"] for r in runs)
        tails = [r["disturbed"]["p99_ms"] / r["disturbed"]["median_ms"] for r in runs if "disturbed" in r]
        if tails:
            f["tail"] = statistics.median(tails)
        out[peer] = f
    return out


def ratio(medians, rivals, ours, field="median_ms"):
    """The better rival's figure divided by ours; None where there is none."""
    theirs = [medians[r][field] for r in rivals if field in medians.get(r, {})]
    mine = medians.get(ours, {}).get(field)
    return min(theirs) / mine if theirs and mine else None


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def times(value):
    return "-" if value is None else f"{value:.2f}"


def with_ratio(medians, rivals, ours, field):
    mine = medians.get(ours, {}).get(field)
    beside = ratio(medians, rivals, ours, field)
    return number(mine) + (f" ({times(beside)})" if beside else "")


def markdown(rows):
    """Rows of cells, the head first; the first column is text."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join([r[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(r[1:], widths[1:])]) + " |"
             for r in rows]
    rule = "|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (w + 1) + ":" for w in widths[1:]]) + "|"
    return [lines[0], rule] + lines[1:]


def table(models, peers, base):
    """Lines for one number of threads. |models|: {name: figures}; |peers|: keys, ours first; |base|: a key or None."""
    ours, rivals = peers[0], [p for p in peers[1:] if p != base]
    tails = any("tail" in f for m in models.values() for f in m.values())
    head = ["model"] + [f"{p}, ms" for p in peers]
    head += (["ratio"] if rivals else []) + ([f"{base} / ours"] if base else [])
    head += ["load, ms", "load + first run", "peak MB"] + ([f"p99/median {p}" for p in peers] if tails else [])
    rows = [head]
    compared = rivals or [base]
    for name, medians in models.items():
        row = [name] + [number(medians.get(p, {}).get("median_ms")) for p in peers]
        row += [times(ratio(medians, rivals, ours))] if rivals else []
        row += [times(ratio(medians, [base], ours))] if base else []
        row += [with_ratio(medians, compared, ours, f) for f in ("load_ms", "ready_ms", "peak_rss_mb")]
        row += [times(medians.get(p, {}).get("tail")) for p in peers] if tails else []
        rows.append(row)
    return markdown(rows)


def ratios(models, rivals, ours):
    found = {name: ratio(medians, rivals, ours) for name, medians in models.items()}
    return {name: r for name, r in found.items() if r is not None}


def summary(models, rivals, ours, what):
    """One line: the geometric mean, the worst, and who lies under 1."""
    found = ratios(models, rivals, ours)
    if not found:
        return f"{what}: nothing to compare"
    worst = min(found, key=found.get)
    below = [f"{n} {r:.2f}" for n, r in sorted(found.items(), key=lambda item: item[1]) if round(r, 2) < 1]
    return (f"{what}: geometric mean {geomean(found.values()):.2f} over {len(found)}, "
            f"worst {found[worst]:.2f} ({worst}); under 1.0: {', '.join(below) if below else 'none'}")


def publish(lines, notes, foreign, markdown):
    """Prints a report with its notes and a warning if the machine was busy; |markdown|: a file for it, or None."""
    lines = lines + [f"- {note}" for note in notes]
    if max(foreign, default=0) > BUSY_WARNING:
        lines.append(f"WARNING: other programs used up to {max(foreign):.0f} % of the machine; "
                     "measure again when it is quiet")
    out = "\n".join(lines).rstrip() + "\n"
    print(out, end="")
    if markdown:
        markdown.write_text(out, encoding="utf-8")
