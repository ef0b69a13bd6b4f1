# SPDX-License-Identifier: Apache-2.0
"""Runs peers in turn: who takes part, whether they compute the same, and their times."""
import pathlib
import subprocess
import sys

import peers
from quiet import Foreign

HERE = pathlib.Path(__file__).resolve().parent


def add_options(parser, seconds):
    parser.add_argument("--onyx", default="build/bin/onyx", help="our command")
    parser.add_argument("--base", help="another build of it, to compare two commits")
    parser.add_argument("--ort", help="a libonnxruntime.so.1 or libonnxruntime.so.VERSION")
    parser.add_argument("--ort-run", default="build/bench/ort_run", help="the program that times it")
    parser.add_argument("--openvino", metavar="PYTHON", help="a python with the package openvino")
    parser.add_argument("--provider", metavar="NAME[,KEY=VALUE...]", help="what Onyx asks before its CPU")
    parser.add_argument("--ort-provider", metavar="cuda[,KEY=VALUE...]", help="and what ONNX Runtime asks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds, help="each process measures that long")
    parser.add_argument("--isa", choices=sorted(peers.ISAS), help="the most that Onyx and OpenVINO may use")


def say(line):
    print(line, file=sys.stderr, flush=True)


def find_peers(args):
    """Ours first; says who cannot run here."""
    found = [peers.Onyx("onyx", args.onyx, args.isa, True, args.provider)]
    if args.base:
        found.append(peers.Onyx("base", args.base, args.isa, False, args.provider))
    if args.ort:
        found.append(peers.OnnxRuntime(args.ort_run, args.ort, args.isa, args.ort_provider))
    if args.openvino:
        found.append(peers.OpenVino(args.openvino, args.isa))
    versions = {}
    for peer in list(found):
        try:
            versions[peer.key] = peer.version()
        except (peers.Failed, OSError) as e:
            if peer.ours:
                sys.exit(f"{args.onyx}: {e}")
            say(f"without {peer.key}: {e}")
            found.remove(peer)
    return found, versions


def agreeing(case, everybody, threads, tolerance, notes):
    """Those whose outputs are ours, within |tolerance| of an output's largest element."""
    ours = everybody[0]
    try:
        wanted = ours.outputs(case, threads)
    except (peers.Failed, OSError) as e:
        notes.append(f"{case.name}: onyx: {e}")
        return []
    found = [ours]
    for peer in everybody[1:]:
        try:
            gap = peers.difference(wanted, peer.outputs(case, threads))
        except (peers.Failed, OSError) as e:
            notes.append(f"{case.name}: without {peer.key}: {e}")
            continue
        if gap is None or gap > tolerance:
            how = "in shape or in what is not finite" if gap is None else f"by {gap:.2g} of the largest element"
            notes.append(f"{case.name}: without {peer.key}: its outputs differ {how}, {tolerance:g} is allowed")
        else:
            found.append(peer)
    return found


def one_time(peer, case, threads, seconds, disturb):
    times = peer.times(case, threads, seconds)
    if disturb:
        neighbour = subprocess.Popen([sys.executable, "-B", HERE / "disturb.py"])
        try:
            times["disturbed"] = peer.times(case, threads, seconds)
        finally:
            neighbour.kill()
            neighbour.wait()
    return times


def order_of(who, turn):
    """Rotated, and every other round backwards: first touches of memory are dearer after a process that had more of it,
    so nobody is to come after the same one each time."""
    shift = turn // 2 % len(who)
    order = who[shift:] + who[:shift]
    return order[::-1] if turn % 2 else order


def measure(runners, threads, args, notes, disturb=False):
    """{model: {peer: [times]}}; |runners|: {case: peers}. And how busy others were, in % of the machine, per round."""
    samples = {case.name: {p.key: [] for p in who} for case, who in runners.items()}
    foreign = []
    for turn in range(args.rounds):
        seen = Foreign()
        for case, who in runners.items():
            for peer in order_of(who, turn):
                try:
                    samples[case.name][peer.key].append(one_time(peer, case, threads, args.seconds, disturb))
                except (peers.Failed, OSError) as e:
                    notes.append(f"{case.name}: {peer.key}, {threads} threads: {e}")
        foreign.append(seen.percent())
        say(f"threads {threads}, round {turn + 1} of {args.rounds}: others used {foreign[-1]:.1f} % of the machine")
    return samples, foreign
