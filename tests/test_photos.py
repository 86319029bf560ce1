"""Query sets, baselines and records of benchmarks/photos."""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.photos import (
    curves,
    development,
    development_plain,
    goals,
    layers,
    methods,
    new_user,
    objects,
    omniglot,
    page,
    prior,
    records,
    sensitivity,
    sprites,
)
from benchmarks.photos.archives import LazyImages, Pixels, open_zip
from benchmarks.photos.character_network import CharacterNetwork, strokes, view
from benchmarks.photos.features import opaque, prepared, remembered
from benchmarks.photos.layers import VARIANTS, LayerSum
from benchmarks.photos.methods import SLDA, NearestMean, NearestNeighbours, RanPAC, ScoredMethod
from benchmarks.photos.page import PAGE, with_tables
from benchmarks.photos.queries import Answer, Queries, QuerySet, Trial
from benchmarks.photos.records import (
    RESULTS,
    Result,
    accuracy,
    evaluate,
    load,
    merged,
    path_of,
    store,
    summary,
)
from benchmarks.photos.sets import SETS
from benchmarks.photos.sift import Sift
from PIL import Image

from everlearn.networks import to_tensor
from everlearn.rng import rng_at


def test_page_matches_the_stored_results() -> None:
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.photos.page`"


def test_every_stored_result_belongs_to_a_set_and_a_method() -> None:
    expected = {path_of(s.name, method) for s in SETS.values() for method in (*s.methods, *VARIANTS)}
    assert set(RESULTS.glob("*.json")) <= expected | {sensitivity.path()}


def plain(level: int, height: int = 8, width: int = 8) -> Pixels:
    return np.full((height, width, 3), level, np.uint8)


def test_preparation_trims_only_plain_borders() -> None:
    image = plain(200, 60, 60)
    image[10:30, 20:40] = 0
    dark = prepared(image, size=44)[..., 0] < 100
    assert dark.mean() == pytest.approx((20 / 22) ** 2, abs=0.03)
    assert (prepared(image, trim=False, size=60)[..., 0] == image[..., 0]).all()
    busy = np.random.default_rng(0).integers(0, 255, (40, 40, 3)).astype(np.uint8)
    assert prepared(busy, size=44)[2:-2, 2:-2].std() == pytest.approx(busy.std(), rel=0.1)


def test_transparent_pixels_become_white() -> None:
    cut_out = np.dstack([plain(0), np.zeros((8, 8), np.uint8)])
    cut_out[2:4, 2:4, 3] = 255
    assert opaque(cut_out)[..., 0].tolist() == np.where(cut_out[..., 3] == 255, 0, 255).tolist()


def embed(images: Sequence[Pixels]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return np.stack([image.astype(np.float32).ravel() for image in images])


def clusters(n: int, seed: int) -> tuple[list[Pixels], list[str]]:
    """N images of each of three things that differ in the pixels that are bright."""
    rng = np.random.default_rng(seed)
    names = [name for name in ("a", "b", "c") for _ in range(n)]
    images = []
    for name in names:
        image = rng.integers(0, 60, (4, 4, 3)).astype(np.uint8)
        image["abc".index(name)] += 150
        images.append(image)
    return images, names


@pytest.mark.parametrize("make", [NearestMean, NearestNeighbours, SLDA, RanPAC])
@pytest.mark.parametrize("n", [1, 5])
def test_baselines_name_known_things_and_refuse_others(make: type[ScoredMethod], n: int) -> None:
    method = make(embed)
    method.teach(*clusters(n, 0))
    images, names = clusters(10, 1)
    answers = method.ask(images)
    assert [answer.best for answer in answers] == names
    if n > 1 or make is not SLDA:  # three points have no covariance that is worth the name
        assert sum(answer.name is None for answer in answers) <= 3
    mixed = [image // 2 + image[::-1] // 2 for image in clusters(1, 2)[0][:1]]
    assert method.ask(mixed)[0].confidence < min(answer.confidence for answer in answers)


def test_ranpac_gives_the_weights_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PROJECTED", 30)
    monkeypatch.setattr(methods, "RIDGES", (0.1,))
    images, names = clusters(4, 0)
    method = RanPAC(embed)
    method.teach(images, names)
    projected, one_hot = method.exemplars.astype(np.float64), method._one_hot()
    ridge = 0.1 * (projected**2).sum() / len(projected)
    expected = np.linalg.solve(projected.T @ projected + ridge * np.eye(30), projected.T @ one_hot)
    assert method.exemplars.T @ method.weights == pytest.approx(expected, abs=1e-4)


def test_leave_one_out_error_is_that_of_fits_without_the_exemplar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PROJECTED", 30)
    images, names = clusters(3, 0)
    method = RanPAC(embed)
    method.teach(images, names)
    gram, one_hot = (method.exemplars @ method.exemplars.T).astype(np.float64), method._one_hot()
    values, basis = np.linalg.eigh(gram)
    wrong = 0
    for i in range(len(gram)):
        rest = np.arange(len(gram)) != i
        fit = np.linalg.solve(gram[rest][:, rest] + 1e9 * np.eye(rest.sum()), one_hot[rest])
        wrong += int((gram[i, rest] @ fit).argmax() != method.targets[i])
    assert method._fit(values, basis, 1e9)[0] == pytest.approx(wrong / len(gram))


TRIAL = Trial("one", 0, [], [], {})


def test_summary_counts_each_kind_of_answer() -> None:
    names = ["a", "a", "a", None, None]
    answers = [
        Answer("a", "a", 0.9), Answer(None, "a", 0.3), Answer("b", "b", 0.8),
        Answer(None, "a", 0.2), Answer("b", "b", 0.5),
    ]  # fmt: skip
    found = summary(TRIAL, "clean", Queries([plain(0)] * 5, names), answers)
    assert found == Result(
        "one", 0, "clean", 3, 2, 1, 1, 2, 1, auroc=round(5 / 6, 4), refused_at_5=round(1 / 3, 4)
    )


def test_only_the_product_is_asked_some_of_the_queries() -> None:
    toy = QuerySet("toy", "Things.", "", lambda: iter(()), ("everlearn", "pixels"), every=3)
    queries = Queries(LazyImages(plain, range(7)), list("abcdefg"))
    assert toy.asked(queries, "everlearn").names == ["a", "d", "g"]
    assert [image[0, 0, 0] for image in toy.asked(queries, "everlearn").images] == [0, 3, 6]
    assert toy.asked(queries, "pixels").names == list("abcdefg")
    assert toy.description == "Things. everlearn is asked one of 3 queries."


def test_results_are_stored_and_pooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(records, "make_method", lambda *_: NearestMean(embed))
    images, names = clusters(2, 0)
    asked = {"clean": Queries(*clusters(3, 1)), "no thing": Queries(images[:1], [None])}
    trials = [Trial("two", seed, images, names, asked) for seed in (0, 1)]
    toy = QuerySet("toy", "", "", lambda: iter(trials), ("nearest",))
    results = list(evaluate("nearest", toy))
    assert list(evaluate("nearest", toy, results[:2] + results[3:])) == [results[2]]
    same = QuerySet("toy", "", "", lambda: iter([trials[0], trials[0]]), ("nearest",))
    twice = list(evaluate("nearest", same))
    assert list(evaluate("nearest", same, twice[:2])) == twice[2:]  # trials of one name and seed
    store("toy", "nearest", results)
    assert load("toy", "nearest") == results
    assert json.loads(path_of("toy", "nearest").read_text())["method"] == "nearest"
    pooled = accuracy([result for result in results if result.condition == "clean"])
    assert (pooled.mean, pooled.n) == (1.0, 18)


SQUARE = np.dstack([plain(0, 40, 40), np.full((40, 40), 255, np.uint8)])


def test_thing_has_the_size_and_place_of_its_pose() -> None:
    layer = new_user.placed(SQUARE, new_user.Pose(angle=0.0, scale=0.5, x=1.0, y=0.0))
    rows, columns = (np.flatnonzero((layer[..., 3] > 0.5).any(axis=axis)) for axis in (1, 0))
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (0, 89, 166, 255)
    assert (layer[..., :3] == 0).all()


def test_thing_turns_and_keeps_its_area() -> None:
    half = SQUARE.copy()
    half[:, :20, :3] = 255
    layer = new_user.placed(half, new_user.Pose(np.pi / 2, 1.0, 0.5, 0.5))
    assert layer[..., 3].sum() == pytest.approx(180**2, rel=0.02)
    top, bottom = layer[:128, :, 0].sum(), layer[128:, :, 0].sum()
    assert max(top, bottom) > 50 * min(top, bottom)


def test_perspective_moves_the_corners() -> None:
    corners = (0.1, 0.1, -0.1, 0.1, 0.0, 0.0, 0.0, 0.0)
    layer = new_user.placed(SQUARE, new_user.Pose(0.0, 1.0, 0.5, 0.5, corners))
    widths = (layer[..., 3] > 0.5).sum(axis=1)
    assert widths[widths > 0][2] == pytest.approx(0.8 * 180, abs=3)
    assert widths.max() == pytest.approx(180, abs=2)


def test_bar_covers_its_share_of_the_thing() -> None:
    layer = new_user.placed(SQUARE, new_user.Pose(0.3, 0.8, 0.2, 0.7))
    for number in range(5):
        image = new_user.over(layer, 1.0)
        changed = (new_user.covered(image, layer[..., 3], rng_at(0, "test", number)) != image).any(axis=2)
        assert changed[layer[..., 3] > 0.5].mean() == pytest.approx(0.3, abs=0.02)


def test_light_falls_to_three_tenths() -> None:
    lit = new_user.uneven_light(np.ones((new_user.CANVAS, new_user.CANVAS, 3)), rng_at(0, "test"))
    assert (lit.min(), lit.max()) == pytest.approx((0.3, 1.0), abs=0.01)


def test_cut_out_is_composed_with_its_opacity() -> None:
    cut_out = np.dstack([plain(100), np.full((8, 8), 51, np.uint8)])
    assert (objects.composed(cut_out, plain(200)) == 180).all()


def test_lazy_images_are_made_when_they_are_needed() -> None:
    made: list[int] = []

    def make(i: int) -> Pixels:
        made.append(i)
        return plain(i)

    images = LazyImages(make, range(5))
    assert len(images) == 5
    assert not made
    assert [image[0, 0, 0] for image in images[1:3]] == [1, 2]
    assert images[-1][0, 0, 0] == 4
    assert made == [1, 2, 4]


def write_characters(path: Path, alphabets: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for alphabet in alphabets:
            for number in range(1, 23):
                for hand in range(1, 21):
                    content = io.BytesIO()
                    Image.fromarray(plain(hand)).save(content, "PNG")
                    member = f"{path.stem}/{alphabet}/character{number:02d}/{number:04d}_{hand:02d}.png"
                    archive.writestr(member, content.getvalue())


@pytest.fixture
def few_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four alphabets in place of Omniglot: one small, one trained on, two to evaluate."""
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    for function in (open_zip, omniglot.characters):
        function.cache_clear()
    full = tmp_path / "omniglot-full" / "omniglot"
    write_characters(full / "images_background.zip", ["Small", "Trained"])
    write_characters(full / "images_evaluation.zip", ["First", "Second"])
    write_characters(tmp_path / "omniglot" / "images_background_small1.zip", ["Small"])
    write_characters(tmp_path / "omniglot" / "images_background_small2.zip", ["Small"])


@pytest.mark.usefixtures("few_characters")
def test_no_asked_character_is_trained_on() -> None:
    trained = set(omniglot.training_characters())
    assert {name.split("/")[0] for name in trained} == {"Trained"}
    for trials in (omniglot.trials_242, omniglot.trials_1623):
        for trial in trials():
            names = trial.asked["other hands"].names
            assert len(names) > 0
            assert not trained & set(names)
            assert set(names) <= set(trial.names)


@pytest.mark.usefixtures("few_characters")
def test_queries_are_by_other_hands() -> None:
    for trial in omniglot.trials_242():
        taught: dict[str, set[int]] = {}
        for image, name in zip(trial.images, trial.names, strict=True):
            taught.setdefault(name, set()).add(int(image[0, 0, 0]))
        asked = trial.asked["other hands"]
        for image, query in zip(asked.images, asked.names, strict=True):
            assert query is not None
            assert int(image[0, 0, 0]) not in taught[query]


@pytest.mark.usefixtures("few_characters")
def test_one_shot_run_has_one_alphabet_and_two_hands() -> None:
    for trial in list(omniglot.trials_20())[:8]:
        assert len(set(trial.names)) == 20
        alphabets = {name.split("/")[0] for name in trial.names}
        assert alphabets <= {"First", "Second"}
        assert len(alphabets) == 1 or trial.name == "any alphabets"
        hands = [
            {int(image[0, 0, 0]) for image in images}
            for images in (trial.images, trial.asked["another hand"].images)
        ]
        assert [len(each) for each in hands] == [1, 1]
        assert hands[0] != hands[1]


def test_strokes_are_scaled_to_their_box_and_the_background_is_zero() -> None:
    image = plain(255, 105, 105)
    image[10:20, 50:90] = 0
    drawn = strokes(to_tensor(view(image)[None]))[0, 0].numpy()
    assert drawn.shape == (40, 40)
    rows, columns = (np.flatnonzero((drawn > 0.5).any(axis=axis)) for axis in (1, 0))
    assert (len(rows), len(columns)) == (pytest.approx(9, abs=1), pytest.approx(35, abs=1))
    assert drawn[0].max() < 0.02
    assert CharacterNetwork()(to_tensor(view(image)[None])).shape == (1, 256)


@pytest.mark.parametrize("kind", ["perspective", "bending"])
def test_warps_move_the_thing_and_keep_the_background(kind: str) -> None:
    image = plain(168, 64, 64)
    image[20:44, 20:44] = 0
    rng = rng_at(0, "test")
    still, moved = (sprites.warped(image, kind, strength, rng) for strength in (0.0, 0.2))
    assert np.abs(still.astype(int) - image).max() <= 1
    assert (moved != image).any()
    assert (moved[0] == 168).all()
    assert (moved < 84).sum() == pytest.approx((image < 84).sum(), rel=0.35)


def test_vectors_are_computed_once_for_each_key() -> None:
    sizes: list[int] = []

    def compute(images: Sequence[Pixels]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        sizes.append(len(images))
        return embed(images)

    images = LazyImages(plain, range(50))
    first = remembered("test", images[10:30], compute)
    whole = remembered("test", images, compute)
    assert sizes == [20, 30]
    assert (whole == embed(images)).all()
    assert (first == whole[10:30]).all()
    assert (remembered("test", list(images), compute) == whole).all()


def test_whitened_layers_equal_slda_up_to_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "layer_slices", lambda _: {"top": slice(0, 48), "block16": slice(0, 36)})
    monkeypatch.setattr(layers, "features", lambda _, images, __: embed(images))
    images, names = clusters(5, 0)
    for variant in VARIANTS[:4]:
        method = LayerSum(variant, trim=True)
        method.teach(images, names)
        assert [answer.best for answer in method.ask(clusters(10, 1)[0])] == clusters(10, 1)[1]
    slda, white = SLDA(embed), LayerSum("top, 0.1", trim=True)
    slda.teach(images, names)
    white.teach(images, names)
    [(centre, matrix)] = [white_map for white_map in white.maps if white_map]
    asked = embed(clusters(3, 1)[0])
    distances = ((asked[:, None] - slda._means(embed(images))) @ matrix) ** 2
    assert -0.5 * distances.sum(axis=2) == pytest.approx(slda.scores(asked), rel=1e-2)
    assert centre == pytest.approx(embed(images).mean(axis=0))


def test_goals_name_conditions_of_their_sets_and_count_only_baselines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    for method, n in ("everlearn", 8), ("pixels", 5), ("sift", 7):
        store("aloi", method, [Result("1 view", 0, "30 degrees", 10, n, n, 0, 0, 0, None, None)])
    store(
        "omniglot-20",
        "character-network",
        [Result("any alphabets", 0, "another hand", 9, 9, 9, 0, 0, 0, None, None)],
    )
    found = {row[0]: row[1:] for row in goals.rows()}
    above = ("above the best baseline", "0.800", "0.700 (sift)", "reached")
    assert found["aloi: 1 view, 30 degrees"] == above
    assert found["omniglot-20: any alphabets, another hand"] == ("0.90", "not run yet", "not run yet", "")
    stored = {(r.trial, r.condition) for r in load("aloi", "sift")}
    assert stored <= {(g.trial, g.condition) for g in goals.GOALS if g.query_set == "aloi"}


def test_curves_and_rows_of_sprites_by_strength(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    for method, n in ("everlearn", 9), ("pixels", 3):
        conditions = ("clean", "noise 0.05") if method == "everlearn" else ("clean",)
        stored = [Result("1 exemplar", 0, c, 10, n, n, 0, 0, 0, None, None) for c in conditions]
        store("sprites", method, stored)
    assert curves.curves("noise") == {"everlearn": {0.0: 0.9, 0.05: 0.9}, "pixels": {0.0: 0.3}}
    head, _, clean, noise = page.curve("sprites").splitlines()
    assert head == "|  | everlearn | pixels |"
    assert clean.startswith("| clean | **0.900** (")
    assert noise.endswith("| - |")
    curves.write(tmp_path)
    assert (tmp_path / curves.NAME).read_text("utf-8").count("occluder") == 1


def test_sift_finds_a_turned_texture_and_refuses_a_blank_image() -> None:
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    coarse = [rng.integers(0, 255, (16, 16, 3)).astype(np.uint8) for _ in range(2)]
    textures = [
        np.asarray(Image.fromarray(one).resize((128, 128), Image.Resampling.BICUBIC)) for one in coarse
    ]
    method = Sift()
    method.teach([*textures, plain(255, 128, 128)], ["first", "second", "blank"])
    answers = method.ask([np.rot90(textures[1]).copy(), plain(0, 64, 64)])
    assert (answers[0].name, answers[1].name) == ("second", None)


def test_development_set_shares_no_thing_with_the_new_user(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not set(development.EMOJI) & set(new_user.EMOJI)
    assert len(set(development.EMOJI)) == 30
    monkeypatch.setattr(development, "things", lambda: {f"thing {i}": SQUARE for i in range(60)})
    first, second = development.trials(["clean"])
    assert set(first.names) | set(second.names) == set(development.things())
    assert not set(first.names) & set(second.names)
    asked = second.asked["clean"]
    assert {name for name in asked.names if name is not None} == set(second.names)
    assert asked.images[0].shape == (new_user.CANVAS, new_user.CANVAS, 3)


def test_pages_of_the_second_development_set_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [development_plain._page(i) for i in range(development_plain.N_PAGES)]
    assert len({each.tobytes() for each in pages}) == len(pages)
    assert min(each.std() for each in pages) > 10
    monkeypatch.setattr(development_plain, "things", lambda: {f"page {i}": pages[i % 18] for i in range(60)})
    first, _ = development.trials(["clean"], development_plain.things)
    assert len(first.names) == 30
    assert first.asked["clean"].images[0].shape == (new_user.CANVAS, new_user.CANVAS, 3)


def test_the_errors_of_a_prior_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    high, low = (0.95, 0.4, 0.7, 1.0, 0.97, 0.95, 0.0, 0.0), (0.5, 0.0, 0.0, 1.0, 0.4, 0.6, 0.0, 0.0)
    found = [
        prior.Scored("toy, clean", each, known, known) for each in (high, low) for known in (True, False)
    ]
    prior.show("before", prior.PRIOR, found)
    assert "toy, clean: 50.0 / 50.0" in capsys.readouterr().out


def test_results_with_another_version_stay_until_they_are_asked_again() -> None:
    old = [Result("1 view", 0, condition, 10, 5, 5, 0, 0, 0, None, None) for condition in ("a", "b")]
    new = [Result("1 view", 0, "a", 10, 9, 9, 0, 0, 0, None, None, "abc")]
    assert merged(new, old) == [new[0], old[1]]
    assert len(records.version()) == 8


def test_sensitivity_counts_thresholds_and_restores_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitivity, "RESULTS", tmp_path)
    answers = [Answer("a", "a", 0.9), Answer(None, "a", 0.4), Answer("b", "b", 0.6)]
    names = {
        value: [answer.name for answer in given]
        for _, value, given in sensitivity._thresholds(sensitivity.VARIANTS[0], answers)
    }
    assert (names["0.3"], names["0.7"], names["0.95"]) == (["a", "a", "b"], ["a", None, None], [None] * 3)
    assert len(list(sensitivity._thresholds(sensitivity.VARIANTS[1], answers))) == 1
    before = sensitivity.matching.N_ALIGNED
    with sensitivity._constants(sensitivity.FEWER):
        assert before > sensitivity.matching.N_ALIGNED
    assert before == sensitivity.matching.N_ALIGNED
    result = Result("half taught", 0, "clean", 10, 8, 7, 2, 20, 1, 0.95, 0.1)
    rows = [sensitivity.Row("image size", "96 px", 40.0, result)]
    sensitivity.store(rows)
    assert sensitivity.load() == rows
    assert "| image size | 96 px | 0.800 | 20.0 / 5.0 | 0.950 | 40 |" in sensitivity.table()
