import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.rendering.render import available_cpus, check_threads, default_threads, run_batches
from everlearn.shapes import ShapeFamily

FAMILY = ShapeFamily(seed=2)
OUTLINES = FAMILY.outlines([0, 1, 2])
CANARY = 77
COLOUR = {"rgb": True}


class TestPairing:
    def test_outlines_and_rows_are_paired(self) -> None:
        factors = Factors(scale=[0.5, 0.7, 1.0])
        images = render(OUTLINES, factors)
        for i in range(3):
            assert np.array_equal(images[i], render(OUTLINES[i], factors[i])[0])

    def test_single_outline_or_row_is_repeated(self) -> None:
        assert np.array_equal(render(OUTLINES, Factors()), render(OUTLINES, Factors.canonical(3)))
        rotated = Factors(angle=[0.0, 1.0])
        assert np.array_equal(render(OUTLINES[1], rotated), render(OUTLINES[[1, 1]], rotated))

    def test_which_selects_the_outline_of_each_row(self) -> None:
        which = np.array([2, 0, 2, 1], np.uint8)
        images = render(OUTLINES, Factors.canonical(4), which=which)
        assert np.array_equal(images, render(OUTLINES, Factors())[which])
        assert np.array_equal(images, render(OUTLINES, Factors(), which=which))

    def test_which_selects_few_of_many_outlines(self) -> None:
        many = FAMILY.outlines(np.arange(500))
        assert np.array_equal(render(many, Factors(), which=[400]), render(FAMILY.outline(400), Factors()))

    @pytest.mark.parametrize("which", [None, [], np.arange(0)])
    def test_empty_batch(self, which: list[int] | None) -> None:
        nothing = FAMILY.outlines([])
        assert render(nothing, Factors(), 32, which=which).shape == (0, 32, 32)
        assert render(OUTLINES[:1], Factors(scale=[]), 32, which=which, rgb=True).shape == (0, 32, 32, 3)


class TestFormats:
    def test_shapes_and_types(self) -> None:
        assert render(OUTLINES, Factors(), 40).shape == (3, 40, 40)
        assert render(OUTLINES, Factors(), 40, rgb=True).shape == (3, 40, 40, 3)
        assert render(OUTLINES, Factors(), 40, rgb=True, channels_first=True).shape == (3, 3, 40, 40)
        assert render(OUTLINES, Factors(), 40, dtype="float32").dtype == np.float32

    @pytest.mark.parametrize("size", [16, 50, 64])
    def test_gray_and_colour_agree_on_gray_shapes(self, size: int) -> None:
        factors = Factors(scale=[0.6, 1.2, 2.0], angle=1.0, colour=(0.4, 0.4, 0.4))
        gray = render(OUTLINES, factors, size)
        for channel in np.moveaxis(render(OUTLINES, factors, size, rgb=True), -1, 0):
            assert np.abs(channel.astype(int) - gray).max() <= 1
        first = render(OUTLINES, factors, size, rgb=True, channels_first=True)
        assert np.array_equal(np.moveaxis(first, 1, -1), render(OUTLINES, factors, size, rgb=True))

    def test_floats_agree_with_bytes(self) -> None:
        for options in ({}, COLOUR):
            exact = render(OUTLINES, Factors(angle=0.3), dtype=np.float32, **options)
            stored = render(OUTLINES, Factors(angle=0.3), **options)
            assert exact.min() >= 0
            assert exact.max() <= 1
            assert np.abs(exact * 255 - stored).max() <= 0.5 + 1e-3

    def test_colours(self) -> None:
        images = render(OUTLINES[0], Factors(colour=(1.0, 0.2, 0.0)), rgb=True, background=(0.0, 0.4, 1.0))[0]
        colours = {tuple(pixel) for pixel in images.reshape(-1, 3)}
        assert {(255, 51, 0), (0, 102, 255), (0, 0, 0)} <= colours
        red = render(OUTLINES[0], Factors(), rgb=True, foreground=(1.0, 0.0, 0.0))[0]
        assert (255, 0, 0) in {tuple(pixel) for pixel in red.reshape(-1, 3)}

    def test_gray_is_the_luminance(self) -> None:
        images = render(OUTLINES[0], Factors(colour=(0.0, 1.0, 0.0)), marker=False, background=0.0)
        assert images.max() == round(0.587 * 255)

    def test_marker_is_optional(self) -> None:
        marked, plain = render(OUTLINES, Factors()), render(OUTLINES, Factors(), marker=False)
        assert marked.min() == 0
        assert plain.min() == 169
        assert np.array_equal(plain[marked == 255], marked[marked == 255])


class TestOut:
    @pytest.mark.parametrize("options", [{}, COLOUR, {"rgb": True, "channels_first": True}])
    def test_out_is_filled_and_returned(self, options: dict[str, bool]) -> None:
        expected = render(OUTLINES, Factors(), 50, **options)
        out = np.full_like(expected, CANARY)
        assert render(OUTLINES, Factors(), 50, out=out, **options) is out
        assert np.array_equal(out, expected)

    @pytest.mark.parametrize(
        "out",
        [
            np.empty((3, 64, 63), np.uint8),
            np.empty((3, 64, 64), np.float32),
            np.empty((3, 64, 128), np.uint8)[..., ::2],
            [[1]],
        ],
    )
    def test_out_of_wrong_shape_or_type_is_rejected(self, out: np.ndarray) -> None:
        with pytest.raises(BadInput, match="out"):
            render(OUTLINES, Factors(), out=out)

    def test_read_only_out_is_rejected(self) -> None:
        out = np.empty((3, 64, 64), np.uint8)
        out.flags.writeable = False
        with pytest.raises(BadInput, match="writeable"):
            render(OUTLINES, Factors(), out=out)


extreme = st.floats(-16, 16) | st.sampled_from([0.0, 1.0, -0.5, 1.5, 16.0, -16.0])
LAYOUTS: list[dict[str, bool]] = [{}, COLOUR, {"rgb": True, "channels_first": True}]


@settings(deadline=None, max_examples=60)
@given(
    scale=st.floats(1e-300, 16) | st.sampled_from([1e-12, 0.5, 1.0, 2.0, 16.0]),
    angle=st.floats(allow_nan=False, allow_infinity=False),
    x=extreme,
    y=extreme,
    size=st.sampled_from([16, 17, 31, 33, 64]),
    index=st.integers(0, 10_000),
    options=st.sampled_from(LAYOUTS),
)
def test_no_factors_write_out_of_bounds(
    scale: float, angle: float, x: float, y: float, size: int, index: int, options: dict[str, bool]
) -> None:
    factors = Factors(scale=[1.0, scale, 1.0], angle=angle, x=[0.5, x, 0.5], y=[0.5, y, 0.5])
    shape = render(OUTLINES[:1], Factors.canonical(3), size, **options).shape
    n_bytes, margin = int(np.prod(shape)), 4096
    guarded = np.full(n_bytes + 2 * margin, CANARY, np.uint8)
    out = guarded[margin:-margin].reshape(shape)
    render(FAMILY.outline(index), factors, size, out=out, **options)
    assert (guarded[:margin] == CANARY).all()
    assert (guarded[-margin:] == CANARY).all()
    # Buffers are clean after an extreme image.
    assert np.array_equal(out[0], out[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": 15}, "image_size is 15; it must be between 16 and 512"),
        ({"image_size": 513}, "image_size is 513"),
        ({"image_size": 64.0}, "image_size is 64.0; it must be a whole number of pixels"),
        ({"image_size": True}, "image_size is True"),
        ({"which": [0, 3, 1]}, "which contains 0 to 3; with 3 outlines it must be within 0 to 2"),
        ({"which": [0.0, 1.0, 2.0]}, "which must be a flat list of whole numbers"),
        ({"which": [0, 1]}, "there are 2 entries of which and 3 rows of factors"),
        ({"factors": Factors.canonical(2)}, "there are 3 outlines and 2 rows of factors"),
        ({"factors": Factors(scale=17)}, "scale is 17.0; it must be between 0 and 16"),
        ({"factors": Factors(x=-17)}, "x is -17.0; it must be between -16 and 16"),
        ({"background": 1.1}, "background is 1.1; its levels must be from 0 to 1"),
        ({"background": (0.1, 0.2)}, "background has shape (2,)"),
        ({"background": np.zeros((2, 3))}, "background has shape (2, 3); give one level, or red, green and"),
        ({"background": "red"}, "background is 'red'; it must be a number or a list of numbers"),
        ({"foreground": float("nan")}, "foreground is nan"),
        ({"dtype": np.int16}, "dtype is int16; it must be uint8 (0 to 255) or float32 (0 to 1)"),
        ({"threads": 0}, "threads is 0; it must be a whole number of at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"rows": [1, 2]}, "rows has shape (2,); it must hold one whole number for each of 3 images"),
    ],
)
def test_invalid_arguments_are_rejected_before_drawing(options: dict[str, object], message: str) -> None:
    out = np.full((3, 64, 64), CANARY, np.uint8)
    arguments = {"factors": Factors.canonical(3), "out": out, **options}
    with pytest.raises(BadInput) as caught:
        render(OUTLINES, **arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert (out == CANARY).all()


def test_largest_image() -> None:
    images = render(OUTLINES, Factors(scale=16.0, x=[0.5, 16.0, -16.0]), 512)
    assert images.shape == (3, 512, 512)
    assert set(np.unique(images[1])) == {169}


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_run_batches_processes_every_row_once(threads: int) -> None:
    for n in (0, 1, 9, 10, 11, 100):
        batches: list[tuple[int, int]] = []
        run_batches(lambda *ends: batches.append(ends), n, 10, threads)  # noqa: B023
        assert all(end - begin <= 10 for begin, end in batches)
        assert sorted(i for ends in batches for i in range(*ends)) == list(range(n))


def test_run_batches_uses_several_threads() -> None:
    barrier, arrivals = threading.Barrier(2, timeout=20), list[int]()
    run_batches(lambda begin, end: arrivals.append(barrier.wait()), 2, 1, 2)
    assert sorted(arrivals) == [0, 1]


def test_error_in_a_thread_is_raised() -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError(f"row {begin}")

    for threads in (1, 2):
        with pytest.raises(ValueError, match="row"):
            run_batches(work, 4, 1, threads)


def test_threads_end_with_the_call() -> None:
    before = threading.active_count()
    run_batches(lambda begin, end: None, 100, 1, 4)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("given", "expected"), [("1", 1), ("", available_cpus()), ("many", available_cpus())]
)
def test_threads_are_those_of_the_environment(
    given: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert check_threads(None) == default_threads() == expected <= (os.cpu_count() or 1)
