"""cupyx.scipy.ndimage: the drop-in for scipy's filters on a GPU."""

from cases import dense

from . import Absent


class Stepper:
    def __init__(self, case, shape):
        import cupy
        import cupyx.scipy.ndimage as ndimage

        self.cupy, self.ndimage = cupy, ndimage
        self.passes = []
        for taps in case.passes:
            reach = case.reach(taps)
            block = dense(taps, reach)
            along = [axis for axis, r in enumerate(reach) if r]
            one = along[0] if len(along) == 1 else None
            if one is not None:
                block = block.ravel()
            self.passes.append((cupy.asarray(block.astype(case.type)), one))

    def load(self, array):
        self.field = self.cupy.asarray(array)
        self.other = self.cupy.empty_like(self.field)

    def advance(self, steps):
        for _ in range(steps):
            for weights, axis in self.passes:
                if axis is None:
                    self.ndimage.correlate(self.field, weights, output=self.other, mode="nearest")
                else:
                    self.ndimage.correlate1d(self.field, weights, axis=axis, output=self.other, mode="nearest")
                self.field, self.other = self.other, self.field

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def fetch(self):
        return self.cupy.asnumpy(self.field)


def make(case, shape, device):
    if device != "cuda":
        raise Absent("CuPy runs on a GPU alone")
    return Stepper(case, shape)
