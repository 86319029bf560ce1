"""What the paper shows, who is in it, and what it says of it."""

from everlearn.papers.exhibit import Exhibit
from everlearn.papers.vase.variants import CODES, ENTANGLED, RAMAPURAM

EXHIBITS = (
    Exhibit(
        "vase-table-1",
        "What each part of VASE is good for: moving Fashion, MNIST, moving MNIST",
        ("CCI-VAE", *CODES, "VAE", *(code + ENTANGLED for code in CODES), RAMAPURAM),
    ),
    Exhibit("vase-figure-2", "VASE beside CCI-VAE on three environments", ("CCI-VAE", "SDA")),
    Exhibit("vase-figure-3", "VASE beside CCI-VAE on five environments", ("CCI-VAE, five", "SDA, five")),
    Exhibit(
        "vase-returning",
        "An environment that comes back (not in the paper)",
        ("SDA, returning",),
    ),
)
