"""The status page at ``/``: a Snapshot as HTML that anybody on the box may look at.

Made of the snapshot alone, on demand, in the server's own thread, and kept while neither the
snapshot nor the daemon's health changes: looking costs the loop nothing. Names, figures and
verdicts; no argv, no path, no text of a log.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from pfid.adapters.status_page.sections import body
from pfid.domain.snapshot import Snapshot
from pfid.formats.html.markup import document
from pfid.formats.html.style import STYLE

REFRESH_S: Final = 15
STYLE_DIGEST: Final = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{STYLE_DIGEST}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def status_page(snapshot: Snapshot, *, healthy: bool = True) -> bytes:
    """Return the page, in UTF-8."""
    html = document("pfid", STYLE, body(snapshot, healthy=healthy), refresh_s=REFRESH_S)
    return html.encode("utf-8", "replace")
