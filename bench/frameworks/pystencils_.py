"""pystencils: stencils from symbolic assignments. Its kernels leave the outermost cells alone: they are the ghost layers,
which its users fill by kernels of their own; that is not timed here."""


class Stepper:
    def __init__(self, case, shape, device):
        import numpy
        import pystencils

        if device == "cuda":
            import cupy

            self.arrays, self.cupy = cupy, cupy
            target = getattr(pystencils.Target, "CUDA", None) or pystencils.Target.GPU
        else:
            self.arrays, self.cupy = numpy, None
            target = pystencils.Target.CPU
        word = {"f32": "float32", "f64": "float64"}[case.dtype]
        fixed = ", ".join(map(str, shape))
        self.kernels = []
        for taps in case.passes:
            u, out = pystencils.fields(f"u, out: {word}[{fixed}]")
            total = sum(w * u[offset] for offset, w in taps)
            step = pystencils.Assignment(out[(0,) * case.rank], total)
            layers = [(r, r) for r in case.reach(taps)]
            kernel = pystencils.create_kernel(step, **options(pystencils, target, word, layers))
            self.kernels.append(kernel.compile())

    def load(self, array):
        self.field = self.arrays.array(array)
        self.other = self.field.copy()

    def advance(self, steps):
        for _ in range(steps):
            for kernel in self.kernels:
                kernel(u=self.field, out=self.other)
                self.field, self.other = self.other, self.field

    def wait(self):
        if self.cupy:
            self.cupy.cuda.Device().synchronize()

    def fetch(self):
        return self.cupy.asnumpy(self.field) if self.cupy else self.field


def options(pystencils, target, word, layers):
    """The kernel's options, which versions 1 and 2 name differently."""
    version = int(pystencils.__version__.split(".")[0])
    types = {"default_dtype": word} if version >= 2 else {"data_type": word, "default_number_float": word}
    config = pystencils.CreateKernelConfig(target=target, ghost_layers=layers, **types)
    return {"config": config}


def make(case, shape, device):
    return Stepper(case, shape, device)
