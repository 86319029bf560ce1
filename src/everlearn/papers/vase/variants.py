"""The paper's variants, by its letters: S finds environments, D dreams, A masks latents."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from everlearn.papers.exhibit import Line

Settings = Mapping[str, Any]

MAIN = ("moving-fashion", "mnist", "moving-mnist")
FIVE = ("moving-mnist", "fashion", "inverted-fashion", "mnist", "moving-fashion")
PAIR = ("mnist", "inverted-fashion")
"""Environments whose images are mixed; instead of the first the paper has CelebA, which is not at hand."""
RETURNING = ("moving-fashion", "mnist", "moving-fashion")
Asks = tuple[tuple[str, ...], ...]
ASKS: Asks = (("environments",), ("traversal",))
TRANSLATED: Asks = (*ASKS, ("translation",))
MIXED: Asks = (*ASKS, ("ambiguity",))
ASKED = ("CCI-VAE", "SDA")
"""Those on the main sequence whose latents are looked at."""
CODES = ("S", "D", "A", "SA", "DA", "SD", "SDA")
RAMAPURAM = "SD-[41]"
"""The paper's name for a teacher and a student (Ramapuram et al.): entangled, and decoders may drift."""
PRECIOUS = 0.5
"""Nats from which on a latent is kept for those who use it; with fewer, five environments find none spare."""
ENTANGLED = ", entangled"
"""Put behind the names of variants whose latents need not stand for one thing each."""


def parts(code: str) -> dict[str, Any]:
    """The settings of vase behind a code.

    Example:
        >>> parts("SD")
        {'learner.clustering': True, 'learner.dreaming': True, 'learner.masking': False}
    """
    switches = {"S": "clustering", "D": "dreaming", "A": "masking"}
    kept = {"learner.used_nats": PRECIOUS} if "A" in code else {}
    return {f"learner.{part}": letter in code for letter, part in switches.items()} | kept


def lines(
    folder: str,
    *,
    common: Settings,
    entangled: Settings,
    seeds: Mapping[str, tuple[int, ...]],
    asks: Asks = ASKS,
    stage: float | None = None,
) -> Iterator[Line]:
    """A line for each row and each side of the paper's table.

    Args:
        folder: of their records.
        common: settings of everybody.
        entangled: what differs for entangled ones.
        seeds: of each variant, by name; those not named have seed 0.
        asks: what the whole method and its baseline are asked afterwards.
        stage: minutes that a stage takes on one core, if that is known.
    """

    def line(name: str, learner: str, settings: Settings) -> Line:
        asked = asks if name in ASKED else ()
        own: dict[str, Any] = {
            "seeds": seeds.get(name, (0,)),
            "stream": "environments",
            "asks": asked,
            "minutes": _minutes(stage, common),
        }
        return Line(name, f"{folder}/{_word(name)}", learner, {**common, **settings}, **own)

    mixed = {**entangled, "learner.entangled": True}
    yield line("CCI-VAE", "cci-vae", {})
    yield line("VAE", "cci-vae", mixed)
    for code in CODES:
        yield line(code, "vase", parts(code))
        yield line(code + ENTANGLED, "vase", {**mixed, **parts(code)})
    yield line(RAMAPURAM, "vase", {**mixed, **parts("SD"), "learner.decoder_weight": 0.0})


def elsewhere(
    folder: str,
    place: str,
    codes: tuple[str, ...],
    settings: Settings,
    asks: Asks = ASKS,
    *,
    seeds: tuple[int, ...] = (0,),
    stage: float | None = None,
) -> Iterator[Line]:
    """A line for some variants under other circumstances, which `place` names; none of them entangled."""
    for code in codes:
        learner = "vase" if code in CODES else "cci-vae"
        own = {**settings, **(parts(code) if code in CODES else {})}
        name = f"{code}, {place}"
        where = f"{folder}/{_word(name)}"
        minutes = _minutes(stage, own)
        yield Line(name, where, learner, own, seeds, stream="environments", asks=asks, minutes=minutes)


def imagining(
    folder: str,
    *,
    main: Settings,
    five: Settings,
    pair: Settings,
    entangled: Settings,
    asks: Mapping[str, Asks] = MappingProxyType({"five": TRANSLATED, "pair": MIXED}),
    stage: float | None = None,
) -> Iterator[Line]:
    """Lines of the whole method for what it imagines.

    Args:
        folder: of their records.
        main: settings on the main sequence, where it explores.
        five: settings on five environments, whose images are translated.
        pair: settings on two environments, whose images are mixed.
        entangled: what differs for the entangled one.
        asks: what those on five and on two environments are asked afterwards.
        stage: minutes that a stage takes on one core, if that is known.
    """
    whole = parts("SDA")
    rivals: dict[str, tuple[Settings, Asks]] = {
        "SDA, five": (five, asks["five"]),
        f"SDA, five{ENTANGLED}": ({**five, **entangled, "learner.entangled": True}, asks["five"]),
        "SDA, pair": (pair, asks["pair"]),
        "SDA, imagined": ({**main, "learner.exploration": "imagined"}, ()),
        "SDA, random": ({**main, "learner.exploration": "random"}, ()),
    }
    for name, (settings, asked) in rivals.items():
        where = f"{folder}/{_word(name)}"
        own = {**settings, **whole}
        yield Line(name, where, "vase", own, stream="environments", asks=asked, minutes=_minutes(stage, own))


def _minutes(stage: float | None, settings: Settings) -> float | None:
    """What a whole sequence takes, if it is known what a stage does."""
    return None if stage is None else stage * len(settings["stream.sequence"])


def _word(name: str) -> str:
    """A name as part of a folder's.

    Example:
        >>> _word("SDA, entangled"), _word("SD-[41]")
        ('sda-entangled', 'sd-41')
    """
    kept = "".join(letter if letter.isalnum() else " " for letter in name.lower())
    return "-".join(kept.split())
