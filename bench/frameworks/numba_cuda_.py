"""Numba's CUDA target: the plain kernel in Python, one thread a cell."""

from . import Absent
from .cupy_raw import name


def source(case, number):
    """The text of a pass; its weights are globals of the cells' type, since a literal would be f64."""
    taps = case.passes[number]
    axes = "zyx"[-case.rank :]
    text = "def kernel(u, out):\n"
    text += f"  {', '.join(reversed(axes))} = cuda.grid({case.rank})\n"
    text += f"  {', '.join('n' + a for a in axes)} = u.shape\n"
    text += "  if " + " or ".join(f"{a} >= n{a}" for a in axes) + ": return\n"
    for axis, a in enumerate(axes):
        for k in sorted({o[axis] for o, _ in taps}):
            text += f"  {a}{name(k)} = min(max({a} + {k}, 0), n{a} - 1)\n"
    text += "  total = ZERO\n"
    for i, (offset, _) in enumerate(taps):
        place = ", ".join(f"{a}{name(k)}" for a, k in zip(axes, offset))
        text += f"  total += W{i} * u[{place}]\n"
    return text + f"  out[{', '.join(axes)}] = total\n"


class Stepper:
    def __init__(self, case, shape, cuda):
        self.cuda = cuda
        self.kernels = []
        for number, taps in enumerate(case.passes):
            names = {"cuda": cuda, "ZERO": case.type(0)}
            names |= {f"W{i}": case.type(w) for i, (_, w) in enumerate(taps)}
            exec(source(case, number), names)
            self.kernels.append(cuda.jit(names["kernel"]))
        self.block = (32, 8, 1)[: case.rank]
        self.blocks = tuple(-(-n // b) for n, b in zip(reversed(shape), self.block))

    def load(self, array):
        self.field = self.cuda.to_device(array)
        self.other = self.cuda.device_array_like(self.field)

    def advance(self, steps):
        for _ in range(steps):
            for kernel in self.kernels:
                kernel[self.blocks, self.block](self.field, self.other)
                self.field, self.other = self.other, self.field

    def wait(self):
        self.cuda.synchronize()

    def fetch(self):
        return self.field.copy_to_host()


def make(case, shape, device):
    from numba import cuda

    if not cuda.is_available():
        raise Absent("Numba finds no CUDA device or toolkit")
    return Stepper(case, shape, cuda)
