"""The cases that peers are timed on: read from the specs that stencilgen's own benchmark runs, and what they compute.

A case is a list of passes; a pass is a list of taps (offset, weight); the boundary is `replicate`, applied before each
pass. `reference` computes it in the plainest way in f64.
"""

import functools
import itertools
import json
import math
from pathlib import Path

import numpy as np

SPECS = Path(__file__).parent / "specs"

# Name and type of the cells, in the order in which they are run.
SET = [
    ("star2d1r", "f32"),
    ("box2d1r", "f32"),
    ("star2d4r", "f32"),
    ("gaussian17", "f32"),
    ("box7x7", "f32"),
    ("star3d1r", "f32"),
    ("box3d1r", "f32"),
    ("star3d4r", "f32"),
    ("star2d1r", "f64"),
    ("star3d1r", "f64"),
]

# Extents of the grids on which results are checked.
CHECKED = {2: (67, 131), 3: (29, 34, 45)}
# Steps of a check.
CHECKED_STEPS = 2


class Case:
    """A case in one type."""

    def __init__(self, name, dtype, scale=1):
        spec = json.loads((SPECS / f"{name}.json").read_text())
        self.name = name
        self.dtype = dtype
        self.type = {"f32": np.float32, "f64": np.float64}[dtype]
        grid = list(spec["grid"])
        if len(grid) == 3:
            # In three axes the grid takes the same memory in either type.
            grid[0] = grid[0] * 4 // np.dtype(self.type).itemsize
        self.grid = tuple(max(n // scale, 1) for n in grid)
        self.passes = passes(spec["stencil"], len(grid))

    @property
    def rank(self):
        return len(self.grid)

    def reach(self, taps=None):
        """How far taps reach along each axis, to either side; all passes together if none are given."""
        if taps is not None:
            return tuple(max(abs(o[a]) for o, _ in taps) for a in range(self.rank))
        each = [self.reach(taps) for taps in self.passes]
        return tuple(sum(r) for r in zip(*each))


def passes(stencil, rank):
    """The passes of a spec's stencil, of the kinds that the standard set has."""
    if stencil.get("preset") == "gaussian":
        sigma = stencil["sigma"]
        radius = int(4 * sigma + 0.5)
        row = [math.exp(-(k * k) / (2 * sigma * sigma)) for k in range(-radius, radius + 1)]
        row = [w / sum(row) for w in row]
        along = lambda axis, k: tuple(k if a == axis else 0 for a in range(rank))
        return [[(along(axis, k - radius), w) for k, w in enumerate(row)] for axis in range(rank)]
    if stencil.get("shape") == "star":
        radius, taps = stencil["radius"], [((0,) * rank, stencil["center"])]
        for axis, arms in enumerate(stencil["arms"]):
            offsets = [k for k in range(-radius, radius + 1) if k]
            for k, w in zip(offsets, arms, strict=True):
                taps.append((tuple(k if a == axis else 0 for a in range(rank)), w))
        return [sorted(taps)]
    if stencil.get("shape") == "box":
        weights = np.array(stencil["weights"])
        index = itertools.product(*(range(n) for n in weights.shape))
        return [[(tuple(i - n // 2 for i, n in zip(at, weights.shape)), float(weights[at])) for at in index]]
    raise ValueError(f"no case is made of {stencil}")


def dense(taps, reach):
    """Taps as a block of weights whose centre is its middle."""
    block = np.zeros([2 * r + 1 for r in reach])
    for offset, w in taps:
        block[tuple(o + r for o, r in zip(offset, reach))] += w
    return block


def windows(offset, reach, shape):
    """The part of an array, padded by `reach` on all sides, that holds the neighbours at an offset."""
    return tuple(slice(r + o, r + o + n) for o, r, n in zip(offset, reach, shape))


def reference(case, field, steps):
    """So many steps in f64."""
    values = field.astype(np.float64)
    for _ in range(steps):
        for taps in case.passes:
            reach = case.reach(taps)
            padded = np.pad(values, [(r, r) for r in reach], mode="edge")
            values = sum(w * padded[windows(o, reach, values.shape)] for o, w in taps)
    return values


@functools.lru_cache(maxsize=1)
def noise(shape, dtype):
    """Random cells in [-1, 1): a block of them, repeated, since making so many takes longer than timing them.
    Kept for the next case; not to be written to."""
    cells = math.prod(shape)
    block = np.random.default_rng(1).random(min(cells, (1 << 24) + 77), dtype=dtype) * 2 - 1
    return np.resize(block, cells).reshape(shape)


def difference(case, found, start, whole):
    """The largest difference from the reference; without the cells that the faces reach if not the `whole` was computed."""
    expected = reference(case, start, CHECKED_STEPS)
    inner = tuple(
        slice(0, n) if whole else slice(CHECKED_STEPS * r, n - CHECKED_STEPS * r)
        for n, r in zip(expected.shape, case.reach())
    )
    if found.shape != expected.shape:
        return math.inf
    error = np.abs(found.astype(np.float64) - expected)[inner].max()
    return float(error) if np.isfinite(error) else math.inf


def tolerance(case):
    """What rounding can explain, amply: sums of up to 50 terms below 1, twice or four times over."""
    return {"f32": 1e-5, "f64": 1e-13}[case.dtype]
