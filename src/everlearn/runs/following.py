"""One run in several processes: the first leads and keeps the record, the others play the same along.

All of them play the whole loop with the same learner; only their networks share the work (`in_shares`).
"""

import hashlib
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.memory.packing import pack, unpack
from everlearn.networks.partners import Dismissed, PartnerLost, handed_out, n_partners, said
from everlearn.runs.events import Event, RunEnded
from everlearn.runs.jobs.stopping import Wish
from everlearn.runs.loop import Play
from everlearn.runs.spec import RunSpec


class PartnersDisagree(BadInput):
    """Processes that should compute the same do not."""


def lead(play: Play) -> None:
    """Let the other processes, if there are any, play along from where the play is."""
    if n_partners() > 1:
        handed_out(pack({"spec": play.spec.to_mapping(), "state": play.state()}))


def follow() -> None:
    """Play along with the first process until it dismisses us, or until anybody is asked to stop."""
    with Wish() as wish, suppress(Dismissed):
        while True:
            given = unpack(handed_out(b""))
            play = Play(RunSpec.from_mapping(given["spec"]))
            play.load(given["state"])
            for event in play.events():
                if agreed(event, wish.received):
                    return


def agreed(event: Event, received: signal.Signals | None) -> signal.Signals | None:
    """What asked to stop here, if anything did, whichever process it asked.

    All come together at every event, and find out if they do not tell the same story.
    """
    if n_partners() > 1 and not isinstance(event, RunEnded):
        everybody = said(received or 0, _fingerprint(event))
        if len({fingerprint for _, fingerprint in everybody}) > 1:
            raise PartnersDisagree(
                f"the processes of this run do not agree on what happened ({event.kind}); let all of them "
                "have the same everlearn, torch and kind of processor"
            )
        asked, _ = max(everybody)
        received = signal.Signals(asked) if asked else None
    return received if event.safe else None


@contextmanager
def told_of_partners(folder: Path) -> Iterator[None]:
    """Say how to go on when a process of the run was lost."""
    try:
        yield
    except (PartnerLost, PartnersDisagree) as error:
        raise type(error)(f"{error}; nothing saved was lost: go on with `{to_resume(folder)}`") from error


def to_resume(folder: Path) -> str:
    """The command that plays a record on as exactly as it was begun."""
    return f"everlearn resume {folder}" + (f" --processes {n_partners()}" if n_partners() > 1 else "")


def _fingerprint(event: Event) -> int:
    told = json.dumps(event.to_json(), sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=7).digest())
