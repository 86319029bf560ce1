"""`everlearn protocol traversal, translation, ambiguity, disentanglement`: for learners that describe."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from everlearn.cli.answer import Answer
from everlearn.cli.whole import Whole

DASH = "–"
SCORES = ("disentanglement", "completeness", "informativeness", "mig", "sap")


def traversal(record: Path, /, *, picture: Whole = 0) -> Answer:
    """Draw a picture of each environment while one latent after another goes from -2 to 2.

    Args:
        record: The folder of a record whose learner describes and draws.
        picture: The number of the test picture from which walks begin.
    """
    facts = _imagined(record, "traversal", picture=picture)
    shown = facts["latents"][: facts["n_used"]]
    rows = [
        (each["name"], str(each["environment"]), _numbers(n for n in shown if _is_used(each, n)))
        for each in facts["walks"]
    ]
    return _answer(facts, ("environment", "taken for", "latents that say something"), rows)


def translation(record: Path, /, *, size: Whole = 500) -> Answer:
    """Draw pictures of each environment as every other shows them; judge what became of them.

    Args:
        record: The folder of a record whose learner tells environments apart.
        size: Pictures of each environment.
    """
    facts = _imagined(record, "translation", size=size)
    rows = [
        (name, other, *(_text(judged[score]) for score in ("there", "off", "kept")))
        for name, row in zip(facts["names"], facts["outcomes"], strict=True)
        for other, judged in zip(facts["names"], row, strict=True)
    ]
    return _answer(facts, ("pictures of", "as in", "look so", "off their place", "keep their name"), rows)


def ambiguity(record: Path, /, *, between: str = "", size: Whole = 256) -> Answer:
    """Mix pictures of two environments; which of them is a batch taken for, alone and in company?

    Args:
        record: The folder of a record whose learner tells environments apart.
        between: Two environments such as mnist,inverted-fashion; the first two that came if not said.
        size: Pairs of pictures that are mixed.
    """
    names = tuple(name for name in between.split(",") if name)
    facts = _imagined(record, "ambiguity", between=names, size=size)
    rows = [(each["context"] or DASH, str(each["n_mixed"]), *_flip(each["flip"])) for each in facts["curves"]]
    return _answer(facts, ("in company of", "mixed pictures", f"{facts['names'][0]} from", "within"), rows)


def disentanglement(record: Path, /, *, size: Whole = 1000) -> Answer:
    """Compare codes with the factors that pictures really show: DCI, MIG and SAP in each environment.

    Args:
        record: The folder of a record whose learner describes images by numbers.
        size: Pictures of each environment.
    """
    facts = _imagined(
        record,
        "disentanglement",
        lambda found: {"environments": [each.to_json() for each in found]},
        size=size,
    )
    rows = [
        (each["name"], ", ".join(each["factors"]), *(_text(each[score]) for score in SCORES))
        for each in facts["environments"]
    ]
    return _answer(facts, ("environment", "factors", *SCORES), rows)


def _plain(found: Any) -> dict[str, Any]:
    told: dict[str, Any] = found.to_json()
    return told


def _imagined(
    record: Path, question: str, told: Callable[[Any], dict[str, Any]] = _plain, **settings: Any
) -> dict[str, Any]:
    """The answer to the protocol of this name, told where the learner was while it learned each task."""
    from everlearn.cli.asking import asked, batches
    from everlearn.evaluation import protocols

    learned = batches(record)

    def ask(play: Any, n: int) -> dict[str, Any]:
        found = getattr(protocols, question)(play.learner, play.stream, n, batches=learned[:n], **settings)
        return told(found)

    return asked(record, question, ask)


def _answer(facts: dict[str, Any], titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Answer:
    from everlearn.cli.catalogue import table

    return Answer(facts, lambda: table(titles, rows))


def _is_used(walks: dict[str, Any], latent: int) -> bool:
    from everlearn.evaluation.protocols.views import USED

    return bool(walks["nats"][latent] > USED)


def _flip(flip: dict[str, float] | None) -> tuple[str, str]:
    return (DASH, DASH) if flip is None else (_text(flip["point"]), _text(flip["width"]))


def _numbers(latents: Iterable[int]) -> str:
    return ", ".join(map(str, latents)) or DASH


def _text(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"
