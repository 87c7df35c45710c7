#!/usr/bin/env python3
"""Puts stencilgen's results, the peers' and published figures into one table: comparison.md and comparison.json.

    bench/merge.py DIRECTORY    where benchmark_results.json is, and peers_results.json if peers were timed

A ratio is stencilgen's rate over the other's: above 1 stencilgen is faster. Peers make one step at a time and are held
against stencilgen's single steps; published figures fuse steps and are held against its many steps.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = Path(sys.argv[1])
    own = json.loads((directory / "benchmark_results.json").read_text())
    peers = directory / "peers_results.json"
    peers = json.loads(peers.read_text()) if peers.exists() else {"environment": {}, "results": []}
    published = json.loads((HERE / "published.json").read_text())
    document = merge(own, peers, published)
    (directory / "comparison.json").write_text(json.dumps(document, indent=2) + "\n")
    (directory / "comparison.md").write_text(markdown(document))


def merge(own, peers, published):
    """All figures by case and type, each with its ratio."""
    rows = {}
    row = lambda case, dtype: rows.setdefault(
        (case, dtype), {"case": case, "dtype": dtype, "stencilgen": {}, "peers": {}, "published": {}}
    )
    failed = []
    for r in own["results"]:
        rate = r["gstencils_per_second"]
        row(r["case"], r["dtype"])["stencilgen"][r["mode"]] = rate
        if rate is None:
            error = (r["report"].get("error") or {}).get("message", "failed")
            failed.append({"who": "stencilgen", "case": f"{r['case']} {r['dtype']} {r['mode']}", "reason": error})
    for r in peers["results"]:
        into = row(r["case"], r["dtype"])
        rate = r["gstencils_per_second"]
        if rate is None:
            failed.append({"who": r["peer"], "case": f"{r['case']} {r['dtype']}", "reason": r["error"]})
            continue
        into["peers"][r["peer"]] = figure(rate, into["stencilgen"].get("single"))
    # Figures of another card, or of other grids than the standard ones, would compare nothing.
    environment = own["environment"]
    fits = published["device"] in environment["device"] and environment["scale"] == 1
    for who, cases in published["figures"].items() if fits else ():
        for (case, dtype), into in rows.items():
            rate = cases.get(case, {}).get(dtype)
            if rate is not None:
                into["published"][who] = figure(rate, into["stencilgen"].get("blocked"))
    return {
        "environment": environment,
        "peers_environment": peers["environment"],
        "rows": list(rows.values()),
        "failed": failed,
        "sources": {"note": published["note"], **published["sources"]} if fits else {},
    }


def figure(rate, own):
    return {"gstencils_per_second": rate, "ratio": own / rate if own else None}


def markdown(document):
    rows = document["rows"]
    names = lambda kind: list(dict.fromkeys(name for r in rows for name in r[kind]))
    peers, published = names("peers"), names("published")
    head = ["case", "type", "**stencilgen**, one step", "**stencilgen**, many steps"]
    head += peers + [f"{name} (published)" for name in published]
    lines = [about(document), "", line(head), line(["---"] * len(head))]
    for r in rows:
        cells = [r["case"], r["dtype"]]
        cells += [number(r["stencilgen"].get(mode)) for mode in ("single", "blocked")]
        cells += [shown(r["peers"].get(name)) for name in peers]
        cells += [shown(r["published"].get(name)) for name in published]
        lines.append(line(cells))
    lines += ["", "In brackets: stencilgen's rate over the other's, one step against one step, many against published figures."]
    if any("inner" in name for name in peers):
        lines.append("«inner»: the cells beside the faces are left alone; all others compute every cell.")
    for name, source in document["sources"].items():
        lines += ["", source if name == "note" else f"{name}: {source}."]
    if document["failed"]:
        lines += ["", "Not measured:", ""]
        told = {}
        for f in document["failed"]:
            told.setdefault((f["who"], f["reason"]), []).append(f["case"])
        lines += [f"- {who}, {', '.join(cases)}: {' '.join(reason.split())}" for (who, reason), cases in told.items()]
    return "\n".join(lines) + "\n"


def about(document):
    own, peers = document["environment"], document["peers_environment"]
    copy = own.get("copy_gbps")
    text = f"GStencil/s. stencilgen {own['stencilgen']} on {own['device']}"
    if own.get("driver"):
        text += f", driver {own['driver']}"
    if copy:
        text += f", copy {copy:.0f} GB/s"
    text += f", {own['date'][:10]}"
    if own["scale"] != 1:
        text += f", **extents divided by {own['scale']}**"
    if peers.get("packages"):
        text += ". " + ", ".join(f"{name} {version}" for name, version in peers["packages"].items())
        if peers.get("device") != own["backend"] and peers.get("device"):
            text += f". **Peers ran on {peers['device']}, stencilgen on {own['backend']}**"
        if peers.get("scale") != own["scale"]:
            text += f". **Peers' extents were divided by {peers['scale']}**"
    return text + "."


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def shown(found):
    if found is None:
        return "–"
    ratio = found["ratio"]
    return number(found["gstencils_per_second"]) + (f" ({ratio:.2f}×)" if ratio is not None else "")


if __name__ == "__main__":
    main()
