"""PyTorch's convolutions, which cuDNN computes on a GPU: a star is a dense block to them. No TF32: the work is in f32."""

from cases import dense

from .torch_slices import Stepper, padded


def make(case, shape, device):
    import torch

    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    conv = {2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[case.rank]
    passes = []
    for taps in case.passes:
        reach = case.reach(taps)
        block = torch.from_numpy(dense(taps, reach).astype(case.type)).to(device)
        passes.append((reach, block[None, None]))

    def step(u):
        for reach, block in passes:
            u = conv(padded(torch, u, reach)[None, None], block)[0, 0]
        return u

    return Stepper(device, step)
