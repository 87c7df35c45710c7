"""Peers: one module a framework, each with a function that makes a `Stepper` of a case.

A stepper has `load(array)`, `advance(steps)` (which may return before the work is done), `wait()` and `fetch()`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A way of doing the work."""

    name: str  # as the tables call it
    module: str  # the module of this package that has it
    needs: tuple  # packages to import
    how: str  # its function
    whole: bool = True  # whether cells beside the faces are computed, by `replicate`, or the inner ones alone


PEERS = [
    Peer("CuPy RawKernel", "cupy_raw", ("cupy",), "make"),
    Peer("cupyx.scipy.ndimage", "cupy_ndimage", ("cupy", "scipy"), "make"),
    Peer("torch eager", "torch_slices", ("torch",), "eager"),
    Peer("torch.compile", "torch_slices", ("torch",), "compiled"),
    Peer("torch.compile, inner", "torch_slices", ("torch",), "compiled_inner", whole=False),
    Peer("torch conv", "torch_conv", ("torch",), "make"),
    Peer("JAX", "jax_slices", ("jax",), "make"),
    Peer("JAX, inner", "jax_slices", ("jax",), "inner", whole=False),
    Peer("Numba CUDA", "numba_cuda_", ("numba",), "make"),
    Peer("pystencils, inner", "pystencils_", ("pystencils", "cupy"), "make", whole=False),
    Peer("Taichi", "taichi_", ("taichi",), "make"),
]


class Absent(Exception):
    """Something that a peer needs is not there; says what."""
