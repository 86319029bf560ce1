"""The comparison of an image with all exemplars: by descriptors, then by alignment of the best ones."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from everlearn.recognition.evidence import aligned_similarity, outline_overlap
from everlearn.recognition.features import WHOLE_SIZE, Descriptors, Features, PretrainedFeatures
from everlearn.recognition.gallery import Gallery, Pyramid
from everlearn.recognition.occluders import without_occluder
from everlearn.recognition.parts import parts_alone
from everlearn.recognition.ranking import Match, best_match, best_of_classes, outline_score
from everlearn.recognition.templates import MAX_SEARCHED, Floats32, windows, windows_near
from everlearn.recognition.views import center_crop, crop, unwarp
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.images.background import PlainBackground
from everlearn.streams.images.canonical import CutOut, cut_from
from everlearn.streams.images.decode import Pixels
from everlearn.streams.images.denoise import denoised

SCENES = ((128, 0.0), (128, -0.08), (192, 0.1))
"""Sizes and margins at which an image is searched for an object of about 128 px in front of a background.

The margin puts one window in the middle.
"""
MIDDLES = (1.0, 0.5)
"""Parts of an image, around its middle, that are described as whole images."""
N_LOCATED, N_ALIGNED = 8, 6
"""Exemplars whose poses are searched for an object that was cut out, and poses that are aligned exactly."""
ALIKE, MAX_ALIKE, N_ALIGNED_ALIKE = 0.15, 100, 16
"""Largest difference of similar classes; largest number of them that are tried, and of aligned poses.

Descriptors say little about things of one kind that differ in their outline only, such as polygons.
"""
N_PROPOSED, N_REFINED, N_DESCRIBED = 24, 10, 5
"""Poses that are aligned if the object may be anywhere, those at full resolution, and those described."""
N_IN_BOX = 2
"""Poses of an exemplar that are aligned because they fill the box around what is seen of the object."""
TEMPLATE_WEIGHT, SCORE_WEIGHT = 0.05, 0.02
"""Weight of the score of a template beside the similarity of descriptors, and beside the explained share."""
CERTAIN_SCORE, CERTAIN_WEIGHT = 7.0, 0.12
"""Template score that random matches do not reach, and the explained share added per unit above it.

Alignment explains nothing inside an object of one colour, but templates find its outline.
"""
MASKED_WEIGHT = 0.5
"""Weight of alignment beside the similarity of masked views, in which all silhouettes fit."""
PART_WEIGHT = 0.1
"""Weight of the score of a template if only a part of an object is seen."""
CLEAR_MARGIN = 0.3
"""With a similarity so far above that of the next class, only the best exemplar is aligned."""


class View:
    """An image (H, W, 4) as it is compared: without noise, its object cut out, described."""

    def __init__(self, rgba: Pixels, features: Features) -> None:
        self.features = features
        seen = np.ascontiguousarray(rgba[..., :3])
        image = denoised(seen)
        self.is_noisy = image is not seen
        background = PlainBackground.find(image)
        self.image, self.hidden = without_occluder(image, background)
        if self.hidden is not None:
            background = PlainBackground.find(self.image)
        self.background = background
        self.found: CutOut = cut_from(np.dstack([self.image, rgba[..., 3]]), background)

    @property
    def is_cut_out(self) -> bool:
        """Whether the object was found in front of a background."""
        return self.found.background != "none"

    @property
    def is_separate(self) -> bool:
        """Whether the whole object is in the image, in front of a background that was found."""
        left, top, right, bottom = self.found.box
        height, width = self.image.shape[:2]
        touches = left <= 0 or top <= 0 or right >= width or bottom >= height
        return self.is_cut_out and not touches and self.hidden is None

    def parts(self) -> list["View"]:
        """Each of several things in front of a plain background, alone; none if there is one thing."""
        if self.hidden is not None or self.found.background == "transparent":
            return []
        opaque = np.full(self.image.shape[:2], 255, np.uint8)
        alone = parts_alone(self.image, self.background)
        views = [View(np.dstack([image, opaque]), self.features) for image in alone]
        for view in views:
            view.is_noisy = self.is_noisy
        return [view for view in views if view.is_cut_out]

    @cached_property
    def pyramid(self) -> Pyramid:
        """Reductions for alignment, without what is hidden."""
        return Pyramid(self.image, self.hidden)

    @cached_property
    def descriptor(self) -> Descriptors:
        """The descriptor (1, n_features) of the object."""
        mask = None
        if self.is_cut_out:
            left, top, right, bottom = self.found.box
            mask = np.zeros(self.image.shape[:2], np.uint8)
            mask[top:bottom, left:right] = self.found.pixels[..., 3]
        pixels, cells = crop(self.image, mask, self.found.box, self.features.size)
        return self.features.describe(pixels[None], cells[None])

    @cached_property
    def scenes(self) -> list[list[Descriptors]]:
        """The maps of the whole image at some sizes; none if the features have no maps."""
        if not isinstance(self.features, PretrainedFeatures):
            return []
        box = (0.0, 0.0, float(self.image.shape[1]), float(self.image.shape[0]))
        resized = [crop(self.image, None, box, size, margin)[0] for size, margin in SCENES]
        return [[layer[0] for layer in self.features.maps(each[None])] for each in resized]

    @cached_property
    def whole(self) -> Descriptors:
        """Descriptors (n, n_whole) of the image and of its middle."""
        return self.features.describe_whole(
            np.stack([center_crop(self.image, share, WHOLE_SIZE) for share in MIDDLES])
        )

    @cached_property
    def windows_near(self) -> tuple[Floats32, FloatArray]:
        """Windows around the object for templates, and their boxes."""
        return windows_near(self.image, self.found.box)

    @cached_property
    def windows(self) -> tuple[Floats32, FloatArray]:
        """Windows of the whole image for templates, and their boxes."""
        return windows(self.image)


def match(view: View, gallery: Gallery, allowed: npt.NDArray[np.bool_] | None = None) -> Match | None:
    """The best class of an image among the allowed rows of a gallery; None if there is none."""
    allowed = np.ones(len(gallery.labels), bool) if allowed is None else allowed
    if not allowed.any():
        return None
    found = _match(view, gallery, allowed)
    for part in view.parts():
        other = _match_object(part, gallery, _object_similarities(part, gallery, allowed))
        if other.likeness > found.likeness:
            view, found = part, other
    aligned = aligned_similarity(view, gallery, found.row, found.transform)
    outline = outline_overlap(view, gallery, found.row, found.transform)
    condition = float(view.is_noisy), float(view.hidden is not None)
    return replace(found, scores=(*found.scores[:4], aligned, outline, *condition))


def _match(view: View, gallery: Gallery, allowed: npt.NDArray[np.bool_]) -> Match:
    """The best class, without the scores that only the confidence needs."""
    candidates: list[tuple[FloatArray, Match]] = []
    if view.is_cut_out or not view.scenes:
        similar = _object_similarities(view, gallery, allowed)
        best = _match_object(view, gallery, similar)
        if best.is_verified:
            return best
        if view.is_cut_out and not view.is_separate:
            return _match_part(view, gallery, similar)
        candidates.append((similar, best))
    if view.scenes:
        similar = _scene_similarities(view, gallery, allowed)
        candidates.append((similar, _match_object(view, gallery, similar)))
    if not view.is_separate:
        found = _match_anywhere(view, gallery, similar)
        if found.is_likely or not view.scenes:
            return found
    return max(candidates, key=lambda each: _relative_margin(each[0], each[1], gallery.labels))[1]


def _object_similarities(view: View, gallery: Gallery, allowed: npt.NDArray[np.bool_]) -> FloatArray:
    """The similarity (n,) of each exemplar with the object that was cut out; -2 where it is not allowed."""
    found = gallery.similarity.of_object(view.descriptor[0])
    return gallery.similarity.with_class_means(np.where(allowed, found, -2.0))


def _scene_similarities(view: View, gallery: Gallery, allowed: npt.NDArray[np.bool_]) -> FloatArray:
    """The similarity (n,) of each exemplar with the best window of the image; -2 where it is not allowed."""
    rows, found = np.flatnonzero(allowed), np.full(len(allowed), -2.0)
    whole = gallery.similarity.of_whole(view.whole)
    for maps in view.scenes:
        in_scene = gallery.similarity.in_scene(maps, rows)
        found[rows] = np.maximum(found[rows], (in_scene + whole[rows]) / 2)
        rows = rows[np.argsort(-found[rows], kind="stable")[:MAX_SEARCHED]]
    return gallery.similarity.with_class_means(found)


def _relative_margin(by_row: FloatArray, found: Match, labels: IntArray) -> float:
    """Margin of the best class over the next one, relative to the spread of all similarities."""
    others = by_row[(labels != found.label) & (by_row > -2.0)]
    return float((found.scores[0] - others.max()) / (others.std() + 1e-6)) if len(others) else 0.0


def _match_object(view: View, gallery: Gallery, by_row: FloatArray) -> Match:
    """The best class of the object that was cut out, or of the whole image."""
    rows = best_of_classes(by_row, gallery.labels)
    n_located, n_aligned = _n_candidates(view, by_row[rows])
    found = gallery.poses(*view.windows_near, rows[:n_located], 2 * n_located)
    poses = sorted(found, key=lambda each: -(by_row[each[1]] + TEMPLATE_WEIGHT * each[0]))
    aligned = [
        (row, *gallery.exemplar(row).align(view.pyramid, start)) for _, row, start in poses[:n_aligned]
    ]
    outlines = np.array([outline_score(view, gallery, *each) for each in aligned])
    return best_match(view, gallery, aligned, by_row, rows, view.features.alignment_weight, outlines)


def _n_candidates(view: View, similarities: FloatArray) -> tuple[int, int]:
    """The number of best classes that are searched for, and of their poses that are aligned."""
    if len(similarities) > 1 and similarities[0] - similarities[1] > CLEAR_MARGIN:
        return 1, N_ALIGNED
    n_alike = int((similarities > similarities[0] - ALIKE).sum())
    if n_alike <= N_LOCATED or not view.is_cut_out:
        return N_LOCATED, N_ALIGNED
    return min(n_alike, MAX_ALIKE), N_ALIGNED_ALIKE


def _match_part(view: View, gallery: Gallery, by_row: FloatArray) -> Match:
    """The best class if only a part of the object is seen, in front of a background that was found.

    The scores of descriptor, outline and pixels are added, since none of them is reliable for a part.
    """
    rows, (windows, boxes) = _most_similar(by_row), view.windows
    poses = gallery.poses(windows, boxes, rows, 2 * len(rows), windows.mean(axis=0))
    poses.sort(key=lambda each: by_row[each[1]] + PART_WEIGHT * each[0])
    totals = by_row.copy()
    for score, row, _ in poses:
        totals[row] = by_row[row] + PART_WEIGHT * score
    starts = [(row, start) for _, row, start in poses[-N_PROPOSED:]]
    for row in rows[:N_LOCATED].tolist():
        starts += [(row, each) for each in gallery.poses_in_box(view.pyramid, view.found.box, row, N_IN_BOX)]
    aligned = [(row, *gallery.exemplar(row).align(view.pyramid, start)) for row, start in starts]
    found = best_match(view, gallery, aligned, totals, rows, 1.0)
    return replace(found, scores=(float(by_row[found.row]), *found.scores[1:]))


def _match_anywhere(view: View, gallery: Gallery, by_row: FloatArray) -> Match:
    """The best class if the object may be anywhere, in front of a pattern, or covered in part.

    The image is brought into the frame of each aligned exemplar and masked like it before it is described,
    so that the background does not count.
    """
    rows, found = _most_similar(by_row), []
    windows, boxes = view.windows
    poses = gallery.poses(windows, boxes, rows, N_PROPOSED, windows.mean(axis=0))
    near = [(pose, *gallery.exemplar(pose[1]).approach(view.pyramid, pose[2])) for pose in poses]
    near.sort(key=lambda each: -(each[1] + SCORE_WEIGHT * each[0][0]))
    for (score, row, start), _, approached in near[:N_REFINED]:
        explained, transform = gallery.exemplar(row).refine(view.pyramid, start, approached)
        explained += CERTAIN_WEIGHT * max(0.0, score - CERTAIN_SCORE)
        found.append((explained + SCORE_WEIGHT * score, (row, explained, transform)))
    found.sort(key=lambda each: -each[0])
    aligned = [each for _, each in found[:N_DESCRIBED]]
    views = [
        unwarp(view.image, transform, gallery.exemplar(row).pixels, view.features.size)
        for row, _, transform in aligned
    ]
    pixels, masks = np.stack([each[0] for each in views]), np.stack([each[1] for each in views])
    aligned_rows = np.array([row for row, _, _ in aligned])
    similarities = gallery.similarity.of_rows(view.features.describe(pixels, masks), aligned_rows)
    masked = np.full(len(gallery.labels), -2.0)
    for i, row in enumerate(aligned_rows):
        masked[row] = max(masked[row], similarities[i])
    return best_match(view, gallery, aligned, masked, np.unique(aligned_rows), MASKED_WEIGHT)


def _most_similar(by_row: FloatArray) -> IntArray:
    """The rows to search for in the whole image, best first, without rows of -2."""
    order = np.argsort(-by_row, kind="stable")
    return order[by_row[order] > -2.0][:MAX_SEARCHED]
