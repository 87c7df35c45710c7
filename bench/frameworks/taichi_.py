"""Taichi: the plain kernel in its language, the taps unrolled as it compiles."""


class Stepper:
    def __init__(self, ti, case, shape):
        self.ti = ti
        self.real = {"f32": ti.f32, "f64": ti.f64}[case.dtype]
        self.shape = shape
        make_kernel = {2: planes, 3: volumes}[case.rank]
        self.kernels = [make_kernel(ti, taps, self.real) for taps in case.passes]

    def load(self, array):
        self.field = self.ti.ndarray(self.real, self.shape)
        self.other = self.ti.ndarray(self.real, self.shape)
        self.field.from_numpy(array)

    def advance(self, steps):
        for _ in range(steps):
            for kernel in self.kernels:
                kernel(self.field, self.other)
                self.field, self.other = self.other, self.field

    def wait(self):
        self.ti.sync()

    def fetch(self):
        return self.field.to_numpy()


def planes(ti, taps, real):
    @ti.kernel
    def kernel(u: ti.types.ndarray(real, 2), out: ti.types.ndarray(real, 2)):
        for y, x in out:
            total = ti.cast(0, real)
            for k in ti.static(range(len(taps))):
                yk = ti.math.clamp(y + taps[k][0][0], 0, u.shape[0] - 1)
                xk = ti.math.clamp(x + taps[k][0][1], 0, u.shape[1] - 1)
                total += ti.cast(taps[k][1], real) * u[yk, xk]
            out[y, x] = total

    return kernel


def volumes(ti, taps, real):
    @ti.kernel
    def kernel(u: ti.types.ndarray(real, 3), out: ti.types.ndarray(real, 3)):
        for z, y, x in out:
            total = ti.cast(0, real)
            for k in ti.static(range(len(taps))):
                zk = ti.math.clamp(z + taps[k][0][0], 0, u.shape[0] - 1)
                yk = ti.math.clamp(y + taps[k][0][1], 0, u.shape[1] - 1)
                xk = ti.math.clamp(x + taps[k][0][2], 0, u.shape[2] - 1)
                total += ti.cast(taps[k][1], real) * u[zk, yk, xk]
            out[z, y, x] = total

    return kernel


def make(case, shape, device):
    import taichi as ti

    ti.init(
        arch=ti.cuda if device == "cuda" else ti.cpu,
        default_fp={"f32": ti.f32, "f64": ti.f64}[case.dtype],
        log_level=ti.ERROR,
        # What cannot run on the GPU is not to run on the CPU instead.
        enable_fallback=False,
    )
    return Stepper(ti, case, shape)
