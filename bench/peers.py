#!/usr/bin/env python3
"""Times the work of stencilgen's benchmark as other libraries do it: those that are here.

Each library runs in a process of its own, one case after the other: built, checked on a small grid against the reference
in f64, then timed on the full grid by the wall clock around synchronised work, until a measurement takes 20 ms; the median
of seven counts. What fails, differs or is not there is listed with its reason. A process that crashes or takes too long
loses the case at hand alone.

Writes peers_results.json and peers_results.md into the directory of --output.
"""

import argparse
import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from frameworks import PEERS, Absent  # noqa: E402

MEASUREMENTS = 7
LEAST_SECONDS = 0.02
# What a measurement is to take more than the least, since the next may be faster.
MARGIN = 1.25
# The head of a line that a process tells a result by.
MARK = "result: "


def has_gpu():
    """Whether the driver is here and has a device."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", default=".", type=Path, help="directory to write into")
    parser.add_argument("--scale", type=int, default=1, help="divide extents by this")
    parser.add_argument("--only", default="", help="cases, by name: star2d1r,box3d1r")
    parser.add_argument("--dtype", choices=["f32", "f64"], help="cases of this type alone")
    parser.add_argument("--peers", default="", help="peers, by a part of their names: cupy,torch")
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--seconds", type=float, default=60.0, help="most that a case of a peer takes, compiling included")
    parser.add_argument("--total", type=float, default=float("inf"), help="most that all take; what is left is not run")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    args = options()
    if args.device == "auto":
        args.device = "cuda" if has_gpu() else "cpu"
    if args.child:
        return child(args)
    missing = [p for p in ("numpy",) if importlib.util.find_spec(p) is None]
    if missing:
        sys.exit(f"bench/peers.py needs {', '.join(missing)}")
    from cases import SET

    only = [name for name in args.only.split(",") if name]
    unknown = set(only) - {name for name, _ in SET}
    if unknown:
        # stencilgen has cases that no peer is timed on.
        print(f"no peer is timed on {', '.join(sorted(unknown))}", file=sys.stderr)
    cases = [c for c in SET if (not only or c[0] in only) and args.dtype in (None, c[1])]
    wanted = [w.strip().lower() for w in args.peers.split(",") if w.strip()]
    peers = [p for p in PEERS if not wanted or any(w in p.name.lower() for w in wanted)]
    args.output.mkdir(parents=True, exist_ok=True)
    document = {"environment": environment(args), "results": []}
    end = time.monotonic() + args.total
    for peer in peers:
        for result in run(peer, cases, args, end):
            document["results"].append(result)
            shown = result.get("gstencils_per_second")
            print(
                f"{peer.name}, {result['case']} {result['dtype']}: "
                + (f"{shown:.4g} GStencil/s" if shown else result["error"]),
                file=sys.stderr,
                flush=True,
            )
            write(args.output, document)
    write(args.output, document)
    return 0


def environment(args):
    versions = {}
    for package in ["numpy", "torch", "jax", "numba", "numba-cuda", "pystencils", "taichi"]:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    for distribution in importlib.metadata.distributions():
        if (distribution.name or "").startswith("cupy"):
            versions[distribution.name] = distribution.version
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "device": args.device,
        "python": platform.python_version(),
        "packages": versions,
        "scale": args.scale,
    }


def run(peer, cases, args, end):
    """The results of a peer, as they come."""
    missing = [p for p in peer.needs if importlib.util.find_spec(p) is None]
    left = list(cases)
    while left:
        if missing:
            reason = f"{', '.join(missing)} not installed"
        elif time.monotonic() >= end:
            reason = "not run: the time of --total was over"
        else:
            reason = None
        if reason:
            yield from (failure(peer, case, reason) for case in left)
            return
        for result in process(peer, left, args, end):
            left = left[1:]
            yield result


def process(peer, cases, args, end):
    """The results of one process: of all cases, or as far as it comes and of the one that it fails at."""
    command = [sys.executable, str(HERE / "peers.py"), "--child", peer.name, "--device", args.device]
    command += ["--scale", str(args.scale), "--only", ",".join("/".join(case) for case in cases)]
    said = tempfile.TemporaryFile("w+")
    # A session of its own, so that what it starts ends with it.
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True)
    try:
        for i, case in enumerate(cases):
            # Its imports, which take a while, go with the first case.
            limit = min(args.seconds + (60 if i == 0 else 0), max(end - time.monotonic(), 1))
            line, over = next_result(running, limit)
            if line is None:
                reason = f"took longer than {limit:.0f} s" if over else f"the process ended: {last_words(running, said)}"
                yield failure(peer, case, reason)
                return
            result = json.loads(line)
            ends = result.pop("ends", False)
            yield {**head(peer, case), **result}
            if ends:
                return
    finally:
        kill(running)
        running.wait()
        running.stdout.close()
        said.close()


def next_result(running, limit):
    """The next line that tells a result, if there is one in time, and whether the process was ended for its time."""
    over = threading.Event()

    def end():
        over.set()
        kill(running)

    timer = threading.Timer(limit, end)
    timer.start()
    try:
        for line in running.stdout:
            if line.startswith(MARK):
                return line[len(MARK) :], False
        running.wait()
        return None, over.is_set()
    finally:
        timer.cancel()


def kill(running):
    try:
        os.killpg(running.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_words(running, said):
    said.seek(0)
    lines = [line.strip() for line in said.read().splitlines() if line.strip()]
    return f"exit code {running.returncode}" + (f", {lines[-1][:200]}" if lines else "")


def head(peer, case):
    return {"peer": peer.name, "case": case[0], "dtype": case[1], "boundary": "replicate" if peer.whole else "inner cells"}


def failure(peer, case, reason):
    return {**head(peer, case), "gstencils_per_second": None, "error": reason}


def child(args):
    """Runs the cases of one peer and tells the results on stdout."""
    # Each library is alone in its process, but the reference needs memory too; JAX would take most of the device's at once.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    from cases import Case

    peer = next(p for p in PEERS if p.name == args.child)
    for word in args.only.split(","):
        name, dtype = word.split("/")
        try:
            result = one(peer, Case(name, dtype, args.scale), args.device)
        except Absent as absent:
            result = {"gstencils_per_second": None, "error": str(absent)}
        except Exception as e:  # whatever a library raises is its result
            text = " ".join(str(e).split())[:300]
            # A device may be of no use after an error: the next case gets a process of its own.
            result = {"gstencils_per_second": None, "error": f"{type(e).__name__}: {text}", "ends": True}
        print(MARK + json.dumps(result), flush=True)
        if result.get("ends"):
            return 1
    return 0


def one(peer, case, device):
    """Checks a peer on a case, then times it."""
    from cases import CHECKED, CHECKED_STEPS, difference, noise, tolerance

    make = getattr(importlib.import_module(f"frameworks.{peer.module}"), peer.how)
    small = CHECKED[case.rank]
    start = noise(small, case.type)
    stepper = make(case, small, device)
    stepper.load(start.copy())
    stepper.advance(CHECKED_STEPS)
    stepper.wait()
    error = difference(case, stepper.fetch(), start, peer.whole)
    if not error <= tolerance(case):
        return {"gstencils_per_second": None, "max_abs_error": None, "error": f"differs from the reference by {error:.2e}"}
    del stepper
    stepper = make(case, case.grid, device)
    stepper.load(noise(case.grid, case.type))
    steps, seconds = measure(stepper)
    cells = 1
    for n in case.grid:
        cells *= n
    return {
        "grid": list(case.grid),
        "gstencils_per_second": cells * steps / statistics.median(seconds) / 1e9,
        "steps": steps,
        "total_seconds": seconds,
        "max_abs_error": error,
    }


def measure(stepper):
    """Steps in a measurement, and the seconds of each."""

    def clock(steps):
        stepper.wait()
        start = time.perf_counter()
        stepper.advance(steps)
        stepper.wait()
        return time.perf_counter() - start

    # Compiles, tunes, warms up.
    clock(2)
    steps = 1
    while True:
        took = clock(steps)
        if took >= MARGIN * LEAST_SECONDS:
            seconds = [clock(steps) for _ in range(MEASUREMENTS)]
            if min(seconds) >= LEAST_SECONDS:
                return steps, seconds
            took = min(seconds)
        steps = max(steps + 1, int(steps * min(1.1 * MARGIN * LEAST_SECONDS / max(took, 1e-9), 1000)) + 1)


def write(directory, document):
    texts = {"peers_results.json": json.dumps(document, indent=2) + "\n", "peers_results.md": table(document)}
    for name, text in texts.items():
        part = directory / (name + ".part")
        part.write_text(text)
        part.replace(directory / name)


def table(document):
    """The rates in Markdown, a row a peer and a column a case, and below it what was not measured, and why."""
    results = document["results"]
    columns = list(dict.fromkeys((r["case"], r["dtype"]) for r in results))
    found = {(r["peer"], r["case"], r["dtype"]): r for r in results}
    lines = ["GStencil/s, one step at a time", ""]
    lines.append("| | " + " | ".join(f"{case} {dtype}" for case, dtype in columns) + " |")
    lines.append("| --- " * (len(columns) + 1) + "|")
    for peer in dict.fromkeys(r["peer"] for r in results):
        cells = []
        for column in columns:
            rate = found.get((peer, *column), {}).get("gstencils_per_second")
            cells.append(f"{rate:.4g}" if rate else "–")
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    lines.append("")
    for reason, who in failures(results).items():
        lines.append(f"- {', '.join(who)}: {reason}")
    return "\n".join(lines) + "\n"


def failures(results):
    """What was not measured, by reasons."""
    reasons = {}
    for r in results:
        if r.get("error"):
            reasons.setdefault((r["peer"], r["error"]), []).append(f"{r['case']} {r['dtype']}")
    told = {}
    for (peer, reason), cases in reasons.items():
        every = len(cases) == sum(r["peer"] == peer for r in results)
        told.setdefault(reason, []).append(peer if every else f"{peer} ({', '.join(cases)})")
    return told


if __name__ == "__main__":
    sys.exit(main())
