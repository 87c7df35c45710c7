"""JAX: shifted slices under jit, which XLA makes kernels of."""

from cases import windows


class Stepper:
    def __init__(self, jax, device, step):
        self.jax, self.step = jax, step
        self.device = jax.devices("gpu" if device == "cuda" else "cpu")[0]

    def load(self, array):
        self.field = self.jax.device_put(array, self.device)

    def advance(self, steps):
        for _ in range(steps):
            self.field = self.step(self.field)

    def wait(self):
        self.field.block_until_ready()

    def fetch(self):
        import numpy

        return numpy.asarray(self.field)


def library(case):
    import jax

    if case.dtype == "f64":
        jax.config.update("jax_enable_x64", True)
    return jax


def make(case, shape, device):
    jax = library(case)

    def step(u):
        for taps in case.passes:
            reach = case.reach(taps)
            p = jax.numpy.pad(u, [(r, r) for r in reach], mode="edge")
            u = sum(w * p[windows(o, reach, shape)] for o, w in taps)
        return u

    return Stepper(jax, device, jax.jit(step))


def inner(case, shape, device):
    jax = library(case)

    def step(u):
        start = u
        for taps in case.passes:
            reach = case.reach(taps)
            inside = tuple(n - 2 * r for n, r in zip(u.shape, reach))
            u = sum(w * u[windows(o, reach, inside)] for o, w in taps)
        place = tuple(slice(r, n - r) for n, r in zip(shape, case.reach()))
        return start.at[place].set(u)

    return Stepper(jax, device, jax.jit(step))
