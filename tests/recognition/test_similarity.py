"""Similarities are inner products with the inverse covariance of what varies for one thing."""

from dataclasses import replace

import numpy as np
import pytest

from everlearn.recognition.features import GRID, mask_weights
from everlearn.recognition.metric import FEW, SHRINKAGE, Metric
from everlearn.recognition.similarity import MEAN_WEIGHT, MIN_CLASSES, N_EXACT, Similarity

WIDTHS, WHOLE_WIDTHS = (6, 9), (5, 4)


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def half(seed: int, *shape: int) -> np.ndarray:
    return random(seed, *shape).astype(np.float16)


def make(n: int, n_views: int = 3, labels: list[int] | None = None) -> Similarity:
    masks = np.random.default_rng(1).integers(0, 256, (n, n_views, GRID, GRID), np.uint8)
    classes = np.arange(n) if labels is None else np.array(labels)
    descriptors = half(2, n, n_views, sum(WIDTHS))
    textured, whole = half(3, n, sum(WIDTHS)), half(4, n, 2, sum(WHOLE_WIDTHS))
    return Similarity(classes, np.arange(n), descriptors, masks, textured, whole, WIDTHS, WHOLE_WIDTHS)


def inverse(differences: np.ndarray) -> np.ndarray:
    """Up to a factor: the inverse of the shrunk covariance."""
    n, width = differences.shape
    covariance = differences.T.astype(np.float64) @ differences / n
    added = SHRINKAGE * (1 + FEW / n) * np.trace(covariance) / width
    return added * np.linalg.inv(covariance + added * np.eye(width))


def test_the_dual_is_the_inverse_of_the_shrunk_covariance() -> None:
    differences = random(0, 40, sum(WIDTHS)) * np.linspace(3, 8, sum(WIDTHS), dtype=np.float32)
    metric = Metric.fit(WIDTHS, np.zeros(sum(WIDTHS), np.float32), differences)
    vectors = random(1, 5, sum(WIDTHS))
    for part, dual, slice_ in zip(
        metric.layers(vectors), metric.dual(metric.layers(vectors)), metric.slices, strict=True
    ):
        assert dual == pytest.approx(part @ inverse(differences[:, slice_]), abs=1e-4)
        norms = metric.norms(vectors)[metric.slices.index(slice_)]
        assert norms == pytest.approx(np.sqrt((part * dual).sum(axis=1)), abs=1e-4)


def test_few_exemplars_are_compared_by_the_cosine_of_each_layer() -> None:
    similarity, query = make(4), random(5, sum(WIDTHS))
    expected = 0.0
    for slice_ in (slice(0, 6), slice(6, 15)):
        a, b = query[slice_], similarity.descriptors[..., slice_].astype(np.float64)
        norms = np.linalg.norm(a) * np.linalg.norm(b, axis=2)
        expected = expected + np.einsum("d,nvd->nv", a, b) / norms / 2
    assert similarity.of_object(query) == pytest.approx(expected.max(axis=1), abs=1e-5)
    rows = np.array([2, 0])
    assert similarity.of_rows(np.stack([query, query]), rows) == pytest.approx(
        expected.max(axis=1)[rows], abs=1e-5
    )


def test_the_most_similar_of_many_exemplars_are_compared_exactly() -> None:
    """Norms of the others are estimates, which differ little."""
    similarity, query = make(300), random(5, sum(WIDTHS))
    found = similarity.of_object(query)
    metric = similarity._object_norms.metric
    assert similarity._object_norms.are_estimates
    norms = metric.norms(similarity.descriptors.astype(np.float32))
    layers, expected = metric.layers(query), 0.0
    for i, (layer, dual) in enumerate(zip(layers, metric.dual(layers), strict=True)):
        own = metric.layers(similarity.descriptors.astype(np.float32))[i]
        expected = expected + own @ dual / np.sqrt(layer @ dual) / norms[i] / 2
    best = expected.max(axis=1)
    first = np.argsort(-best)[: N_EXACT // 2]
    assert found[first] == pytest.approx(best[first], abs=1e-5)
    assert np.abs(found - best).max() < 0.3
    assert np.abs(found - best).max() > 0  # or there would be nothing to estimate


def test_a_window_is_compared_by_its_mean_over_the_mask() -> None:
    """Inner products of cells equal those of averaged descriptors."""
    similarity = make(20)
    maps = [random(7, 12, 12, 6), random(8, 6, 6, 9)]  # windows of 8 and 4 cells, at 3 x 3 places
    metric, norms = similarity._scene_norms.metric, similarity._scene_norms.exact(np.arange(20))
    shift = (similarity.textured.astype(np.float32) - similarity.descriptors[:, 0]).mean(axis=0)
    best = np.full((20, 3), -9.0)
    for top in range(3):
        for left in range(3):
            for row, view in np.ndindex(20, 3):
                mask = similarity.masks[row, view][None] / np.float32(255)
                parts = []
                for i, (side, step) in enumerate(((8, 2), (4, 1))):
                    window = maps[i][step * top :][:side, step * left :][:, :side]
                    parts.append(np.einsum("rc,rcd->d", mask_weights(mask, side)[0], window))
                layers = metric.layers(np.concatenate(parts) - shift)
                own = metric.layers(similarity.descriptors[row, view])
                total = 0.0
                for i, (layer, dual) in enumerate(zip(layers, metric.dual(layers), strict=True)):
                    total += dual @ own[i] / np.sqrt(layer @ dual) / norms[row, view, i] / 2
                best[row, view] = max(best[row, view], total)
    found = similarity.in_scene(maps, np.arange(20))
    assert found == pytest.approx(best.max(axis=1), abs=1e-4)


def test_the_most_similar_of_many_exemplars_in_a_scene_are_compared_exactly() -> None:
    """The others in every second view only: views that are next to each other are alike."""
    made = make(MIN_CLASSES)
    views = made.descriptors[:, :1] + np.float16(0.2) * made.descriptors
    similarity = replace(made, descriptors=views, masks=made.masks[:, [0, 0, 0]])
    maps = [random(7, 8, 8, 6), random(8, 4, 4, 9)]
    rows = np.arange(MIN_CLASSES)
    found = similarity.in_scene(maps, rows)
    parts = [similarity.in_scene(maps, rows[i : i + 20]) for i in range(0, MIN_CLASSES, 20)]
    exact = np.concatenate(parts)
    first = np.argsort(-exact)[: N_EXACT // 4]
    assert found[first] == pytest.approx(exact[first], abs=1e-5)
    assert 0 < np.abs(found - exact).max() < 0.3


def one_layer(descriptors: np.ndarray, labels: list[int]) -> Similarity:
    n, n_views, width = descriptors.shape
    masks, empty = np.full((n, n_views, GRID, GRID), 255, np.uint8), np.zeros((n, 1, 0), np.float16)
    stored = descriptors.astype(np.float16)
    return Similarity(np.array(labels), np.arange(n), stored, masks, stored[:, 0], empty, (width,), ())


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_classes_with_several_images_count_the_similarity_with_their_mean_descriptor() -> None:
    descriptors, query = unit(random(6, 5, 1, 8)), random(7, 8)
    similarity = one_layer(descriptors, [0, 0, 1, 2, 0])
    by_row = similarity.of_object(query)
    mean = descriptors[[0, 1, 4], 0].mean(axis=0)
    with_mean = (by_row + MEAN_WEIGHT * unit(mean) @ unit(query)) / (1 + MEAN_WEIGHT)
    found = similarity.with_class_means(by_row)
    assert found[[0, 1, 4]] == pytest.approx(with_mean[[0, 1, 4]], abs=2e-3)
    assert found[[2, 3]] == pytest.approx(by_row[[2, 3]])
    assert replace(similarity, votes=False).with_class_means(by_row) == pytest.approx(by_row)


def test_images_that_are_left_out_do_not_count_in_the_mean() -> None:
    similarity = one_layer(unit(random(6, 3, 1, 8)), [0, 0, 1])
    found = similarity.with_class_means(np.array([0.8, -2.0, 0.7]))
    assert found == pytest.approx([0.8, -2.0, 0.7])


def test_images_of_a_class_in_other_poses_are_turned_before_their_mean() -> None:
    views = unit(random(8, 4, 8))
    similarity = one_layer(np.stack([views, np.roll(views, 1, axis=0)]), [0, 0])
    found = similarity.with_class_means(np.array([0.9, 0.5]))
    mean = 0.7  # both images are equal up to their pose, so the mean descriptor is as long as they are
    assert found == pytest.approx((np.array([0.9, 0.5]) + MEAN_WEIGHT * mean) / (1 + MEAN_WEIGHT), abs=2e-3)


def test_a_metric_of_several_images_ignores_what_varies_within_classes() -> None:
    """A direction in which images of the same thing vary does not distinguish things."""
    labels = [i // 2 for i in range(40)]
    similarity = make(40, 1, labels)
    similarity.descriptors[:, :, 0] += np.where(np.arange(40) % 2, 30, -30)[:, None].astype(np.float16)
    similarity.descriptors[1::2, :, 1:] = similarity.descriptors[::2, :, 1:]
    asked = similarity.descriptors[:, 0].astype(np.float32)
    asked[:, 0] *= -1
    best = [int(similarity.of_object(each).argmax()) for each in asked]
    assert [labels[row] for row in best] == labels


def test_whole_images_are_compared_in_their_best_part_and_view() -> None:
    similarity, found = make(7), random(8, 3, sum(WHOLE_WIDTHS))
    expected = np.zeros((3, 7, 2))
    for part in (slice(0, 5), slice(5, 9)):
        one, other = (
            x / np.linalg.norm(x, axis=-1, keepdims=True)
            for x in (found[:, part], similarity.whole[..., part].astype(np.float64))
        )
        expected += np.einsum("md,nvd->mnv", one, other) / 2
    assert similarity.of_whole(found) == pytest.approx(expected.max(axis=(0, 2)), abs=1e-5)


def test_whole_images_of_one_class_fit_the_metric() -> None:
    similarity, found = make(40, labels=[i // 2 for i in range(40)]), random(8, 1, sum(WHOLE_WIDTHS))
    whole = similarity.whole.astype(np.float64)
    first, total = whole[:, 0], np.zeros((40, 2))
    center, means = first.mean(axis=0), (first[::2] + first[1::2]) / 2
    within = (first - means.repeat(2, axis=0)) * np.sqrt(2)
    for part in (slice(0, 5), slice(5, 9)):
        inner = inverse(within[:, part])
        one, other = (found - center)[0, part], (whole - center)[..., part]
        norms = np.sqrt(np.einsum("nvd,de,nve->nv", other, inner, other) * (one @ inner @ one))
        total += other @ inner @ one / norms / 2
    assert similarity.of_whole(found) == pytest.approx(
        total.max(axis=1), abs=0.01
    )  # small variances are dropped
