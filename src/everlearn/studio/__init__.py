"""Web interface to records and models.

The pages list and start the runs in a folder of records, plot their curves, edit exemplar memories, and show
how a learner recognizes or reconstructs an image. `serve` runs the server on the loopback interface and, on
request, for a phone; `create_app` returns the application. The web framework is an optional dependency,
imported on first use.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.studio.server import Endpoint, create_app, listen, listen_for_phone, serve

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
