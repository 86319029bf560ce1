"""Alignment of exemplars with torch, for GPUs: the formula of `alignment`, for all candidates at once."""

from typing import NamedTuple

import torch
from torch import Tensor

from everlearn.networks.alignment import (
    CONTRAST,
    CONVERGED,
    LAST_STEPS,
    MARGIN,
    PRUNE_RATIO,
    STAGES,
)

MAX_PAIRS = 256
"""Pairs of an image and a candidate that are compared together; each needs about 0.4 MB at 64 px."""


class Pairs(NamedTuple):
    """Images and candidates that are compared, n of each."""

    pixels: Tensor  # (n, C, H * W) of images
    exemplars: Tensor  # (n, C, H * W)
    weights: Tensor  # (n, H * W) 1 for pixels that are compared, else 0
    offsets: Tensor  # (n, 1) of four samples from the middle of a pixel; 0 for one sample
    scales: Tensor  # (n, 1) of the robust residual; infinite for squared errors
    size: tuple[int, int]  # (H, W)

    def part(self, rows: slice) -> "Pairs":
        """Some of the pairs."""
        pixels, exemplars, weights, offsets, scales = (tensor[rows] for tensor in self[:5])
        return Pairs(pixels, exemplars, weights, offsets, scales, self.size)


@torch.no_grad()
def align_candidates(
    images: Tensor, exemplars: Tensor, rows: Tensor, starts: Tensor, scales: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Align each image's candidates in stages from coarse to fine, pruning poor candidates after each.

    Args:
        images: (n, H, W, C) gray levels.
        exemplars: (m, H, W, C) gray levels.
        rows: (n, k) candidates of each image, as rows of `exemplars`.
        starts: (n, k, 4) initial transforms from the image frame to the canonical frame.
        scales: (n, stages) of the robust residual of each image, or None for squared errors.

    Returns:
        Residuals (n, k), and the transforms (n, 4) of the candidates with the smallest ones.
    """
    n, size = len(images), (images.shape[1], images.shape[2])
    pixels, known = (each.permute(0, 3, 1, 2).flatten(2).float() for each in (images, exemplars))
    boxes, found = foreground_boxes(images), starts.float().clone()
    each = torch.arange(n, device=images.device)
    residuals, least = found.new_zeros(rows.shape), torch.zeros_like(each)
    limits, offsets = found.new_zeros(n, 1), found.new_zeros(n)
    if scales is None:
        scales = found.new_full((n, len(STAGES) + 1), torch.inf)
    for (n_steps, stride), scale in zip((*STAGES, (LAST_STEPS, 0)), scales.float().T, strict=True):
        is_used = residuals <= limits
        if not stride:
            offsets = supersample_offsets(found[each, least])
            is_used &= offsets[:, None] > 0
        image, candidate = is_used.nonzero(as_tuple=True)
        weights = grid_weights(boxes, size, max(stride, 1))
        pairs = Pairs(
            pixels[image],
            known[rows[image, candidate]],
            weights[image],
            offsets[image, None],
            scale[image, None],
            size,
        )
        residual, transform = _aligned(pairs, found[image, candidate], n_steps)
        residuals[image, candidate] = residual * max(stride, 1) ** 2
        found[image, candidate] = transform
        least = residuals.argmin(1)
        limits = PRUNE_RATIO * residuals.gather(1, least[:, None])
    return residuals, found[each, least]


def foreground_boxes(images: Tensor) -> Tensor:
    """Boxes (n, 4) around pixels unlike the corner pixel: top, bottom, left, right, with a margin."""
    _, H, W, _ = images.shape
    levels = images.int()
    is_object = ((levels - levels[:, :1, :1]).abs() > CONTRAST).any(3)
    sides = []
    for along, size in ((is_object.any(2), H), (is_object.any(1), W)):
        positions = torch.arange(size, device=images.device)
        first = torch.where(along, positions, size).amin(1) - MARGIN
        end = torch.where(along, positions + 1, 0).amax(1) + MARGIN
        is_empty = ~along.any(1)
        sides += [
            first.clamp(min=0).masked_fill(is_empty, 0),
            end.clamp(max=size).masked_fill(is_empty, size),
        ]
    return torch.stack(sides, 1)


def grid_weights(boxes: Tensor, size: tuple[int, int], stride: int) -> Tensor:
    """Weights (n, H * W): 1 for every `stride`-th pixel of a box in both directions."""
    chosen = []
    for axis, length in enumerate(size):
        first, end = boxes[:, 2 * axis, None], boxes[:, 2 * axis + 1, None]
        positions = torch.arange(length, device=boxes.device)
        chosen.append((positions >= first) & (positions < end) & ((positions - first) % stride == 0))
    return (chosen[0][:, :, None] & chosen[1][:, None]).flatten(1).float()


def supersample_offsets(transforms: Tensor) -> Tensor:
    """As `alignment.supersample_offset`, of transforms (n, 4)."""
    return (0.9 * (1 - 1 / torch.hypot(transforms[:, 0], transforms[:, 1]))).clamp(0.0, 0.5)


def _aligned(pairs: Pairs, transforms: Tensor, n_steps: int) -> tuple[Tensor, Tensor]:
    """The smallest residuals (n,) of the Gauss-Newton steps, and their transforms (n, 4)."""
    parts = []
    for start in range(0, len(transforms), MAX_PAIRS):
        rows = slice(start, start + MAX_PAIRS)
        parts.append(_aligned_together(pairs.part(rows), transforms[rows], n_steps))
    if not parts:
        return transforms.new_zeros(0), transforms
    residuals, found = zip(*parts, strict=True)
    return torch.cat(residuals), torch.cat(found)


def _aligned_together(pairs: Pairs, transforms: Tensor, n_steps: int) -> tuple[Tensor, Tensor]:
    trial, least = transforms, transforms.new_full((len(transforms),), torch.inf)
    goes_on = torch.ones_like(least, dtype=torch.bool)
    for number in range(n_steps + 1):
        residual, right, normal = normal_equations(pairs, trial)
        has_converged, is_better = ~(residual < CONVERGED * least), goes_on & (residual < least)
        least = torch.where(is_better, residual, least)
        transforms = torch.where(is_better[:, None], trial, transforms)
        if number < n_steps:
            step, is_solved = solve(normal, right)
            goes_on = goes_on & ~has_converged & is_solved
            trial = torch.where(goes_on[:, None], trial + step, trial)
    return least, transforms


def normal_equations(pairs: Pairs, transforms: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Residuals (n,), and right sides (n, 4) and matrices (n, 4, 4) of the next Gauss-Newton step."""
    (H, W), r = pairs.size, pairs.offsets
    line, column = (2 * axis.flatten() + 1 for axis in _positions(H, W, r))
    corners = ((-1, -1), (-1, 1), (1, -1), (1, 1)) if bool((r > 0).any()) else ((0, 0),)
    sums = [torch.zeros_like(pairs.pixels) for _ in range(5)]
    for across, down in corners:
        x, y = (column + across * r) / W - 1, (line + down * r) / H - 1
        value, gx, gy = _bilinear(pairs, transforms, x, y)
        x, y = x[:, None], y[:, None]
        for total, new in zip(sums, (value, gx * x + gy * y, gy * x - gx * y, gx, gy), strict=True):
            total += new / len(corners)
    weights = pairs.weights[:, None]
    error = (sums[0] - pairs.pixels) * weights
    # 1 where the scale is infinite, so that errors are squared.
    q = (1 / (1 + (error / pairs.scales[:, None]).square())).flatten(1)
    jacobian = torch.stack([each * weights for each in sums[1:]], 1).flatten(2)
    error, weighted = error.flatten(1), jacobian * q.square()[:, None]
    right = -(weighted @ error[:, :, None])[:, :, 0]
    return (error.square() * q).sum(1), right, weighted @ jacobian.transpose(1, 2)


def _positions(H: int, W: int, like: Tensor) -> tuple[Tensor, ...]:
    axes = (torch.arange(n, device=like.device, dtype=like.dtype) for n in (H, W))
    return torch.meshgrid(*axes, indexing="ij")


def _bilinear(pairs: Pairs, transforms: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values and gradients (n, C, H * W) of exemplars where transforms map positions (n, H * W)."""
    (H, W), (a, b, cx, cy) = pairs.size, transforms.T[:, :, None]
    u = _clamped((a * x - b * y + cx + 1) * (0.5 * W) - 0.5, W - 1)
    v = _clamped((b * x + a * y + cy + 1) * (0.5 * H) - 0.5, H - 1)
    column, line = u.clamp(max=W - 2).long(), v.clamp(max=H - 2).long()
    s, t = (u - column)[:, None], (v - line)[:, None]
    first = (line * W + column)[:, None].expand(pairs.pixels.shape)
    p, q, m, o = (pairs.exemplars.gather(2, first + step) for step in (0, 1, W, W + 1))
    upper, lower = q - p, o - m
    gx = (upper + (lower - upper) * t) * (0.5 * W)
    gy = (m - p + (o - q - (m - p)) * s) * (0.5 * H)
    above = p + upper * s
    return above + (m + lower * s - above) * t, gx, gy


def _clamped(values: Tensor, high: float) -> Tensor:
    """Values from 0 to `high`; 0 where they are NaN."""
    return torch.where(values > 0, values, 0.0).clamp(max=high)


def solve(normal: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Solve damped normal equations by Cholesky decomposition; also whether each is positive definite."""
    damped = normal + torch.diag_embed(0.001 * normal.diagonal(dim1=1, dim2=2) + 1e-9)
    root: list[list[Tensor]] = [[] for _ in range(4)]
    is_solved = torch.ones_like(right[:, 0], dtype=torch.bool)
    for i in range(4):
        for j in range(i):
            rest = damped[:, i, j] - sum(root[i][k] * root[j][k] for k in range(j))
            root[i].append(rest / root[j][j])
        square = damped[:, i, i] - sum(root[i][k] * root[i][k] for k in range(i))
        is_solved &= square > 0
        root[i].append(square.clamp(min=0).sqrt())
    middle: list[Tensor] = []
    for i in range(4):
        middle.append((right[:, i] - sum(root[i][k] * middle[k] for k in range(i))) / root[i][i])
    step = [middle[0]] * 4
    for i in range(3, -1, -1):
        step[i] = (middle[i] - sum(root[k][i] * step[k] for k in range(i + 1, 4))) / root[i][i]
    return torch.stack(step, 1), is_solved
