"""PyTorch on shifted slices: as it is, and through torch.compile, which makes one kernel of them."""

from cases import windows


def padded(torch, u, reach):
    sides = [r for n in reversed(reach) for r in (n, n)]
    return torch.nn.functional.pad(u[None, None], sides, mode="replicate")[0, 0]


def sum_of(taps, reach, p, shape):
    total = None
    for offset, w in taps:
        term = w * p[windows(offset, reach, shape)]
        total = term if total is None else total + term
    return total


class Stepper:
    """Steps by a function from a field to the next."""

    def __init__(self, device, step):
        import torch

        self.torch, self.device, self.step = torch, device, step

    def load(self, array):
        self.field = self.torch.from_numpy(array).to(self.device, copy=True)

    def advance(self, steps):
        with self.torch.no_grad():
            for _ in range(steps):
                self.field = self.step(self.field)

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def fetch(self):
        return self.field.cpu().numpy()


def eager(case, shape, device):
    import torch

    def step(u):
        for taps in case.passes:
            reach = case.reach(taps)
            p = padded(torch, u, reach)
            (first, w), *others = taps
            u = p[windows(first, reach, shape)] * w
            for offset, w in others:
                u.add_(p[windows(offset, reach, shape)], alpha=w)
        return u

    return Stepper(device, step)


def compiled(case, shape, device):
    import torch

    def step(u):
        for taps in case.passes:
            reach = case.reach(taps)
            u = sum_of(taps, reach, padded(torch, u, reach), shape)
        return u

    torch._dynamo.reset()
    return Stepper(device, torch.compile(step, dynamic=False, fullgraph=True))


class Inner(Stepper):
    """Two arrays that take turns; a step writes the inner cells of the other."""

    def load(self, array):
        super().load(array)
        self.other = self.field.clone()

    def advance(self, steps):
        with self.torch.no_grad():
            for _ in range(steps):
                self.step(self.field, self.other)
                self.field, self.other = self.other, self.field


def compiled_inner(case, shape, device):
    import torch

    def step(u, out):
        for taps in case.passes[:-1]:
            reach = case.reach(taps)
            inside = tuple(n - 2 * r for n, r in zip(u.shape, reach))
            u = sum_of(taps, reach, u, inside)
        taps = case.passes[-1]
        reach = case.reach(taps)
        inside = tuple(n - 2 * r for n, r in zip(u.shape, reach))
        place = tuple(slice(r, r + n) for r, n in zip(case.reach(), inside))
        out[place] = sum_of(taps, reach, u, inside)

    torch._dynamo.reset()
    return Inner(device, torch.compile(step, dynamic=False, fullgraph=True))
