"""CuPy's RawKernel: what one writes by hand in an hour. One thread a cell, weights as literals, clamped neighbours."""

from . import Absent


def source(case):
    """CUDA C of all passes."""
    real = {"f32": "float", "f64": "double"}[case.dtype]
    suffix = {"f32": "f", "f64": ""}[case.dtype]
    axes = "zyx"[-case.rank :]
    sizes = ", ".join(f"int n{a}" for a in axes)
    text = ""
    for number, taps in enumerate(case.passes):
        text += f"""
extern "C" __global__ void pass{number}(const {real}* __restrict__ u, {real}* __restrict__ out, {sizes}) {{
"""
        for a in axes:
            text += f"  const int {a} = blockIdx.{a} * blockDim.{a} + threadIdx.{a};\n"
        text += "  if (" + " || ".join(f"{a} >= n{a}" for a in axes) + ") return;\n"
        for a, axis in zip(axes, range(case.rank)):
            for k in sorted({o[axis] for o, _ in taps}):
                text += f"  const int {a}{name(k)} = min(max({a} + {k}, 0), n{a} - 1);\n"
        text += f"  {real} sum = 0;\n"
        for offset, w in taps:
            place = index([f"{a}{name(k)}" for a, k in zip(axes, offset)], axes)
            text += f"  sum = fma({real}({w!r}{suffix}), u[{place}], sum);\n"
        text += f"  out[{index(axes, axes)}] = sum;\n}}\n"
    return text


def name(k):
    return f"_m{-k}" if k < 0 else f"_p{k}"


def index(coordinates, axes):
    place = coordinates[0]
    for c, a in zip(coordinates[1:], axes[1:]):
        place = f"({place}) * n{a} + {c}"
    return place


class Stepper:
    def __init__(self, case, shape):
        import cupy

        self.cupy = cupy
        self.sizes = tuple(cupy.int32(n) for n in shape)
        module = cupy.RawModule(code=source(case))
        self.kernels = [module.get_function(f"pass{i}") for i in range(len(case.passes))]
        self.block = (32, 8, 1)
        extents = tuple(reversed(shape)) + (1,) * (3 - len(shape))
        self.blocks = tuple(-(-n // b) for n, b in zip(extents, self.block))

    def load(self, array):
        self.field = self.cupy.asarray(array)
        self.other = self.cupy.empty_like(self.field)

    def advance(self, steps):
        for _ in range(steps):
            for kernel in self.kernels:
                kernel(self.blocks, self.block, (self.field, self.other, *self.sizes))
                self.field, self.other = self.other, self.field

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def fetch(self):
        return self.cupy.asnumpy(self.field)


def make(case, shape, device):
    if device != "cuda":
        raise Absent("CuPy runs on a GPU alone")
    return Stepper(case, shape)
