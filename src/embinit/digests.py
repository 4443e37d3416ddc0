"""Digests of text and of files."""

from __future__ import annotations

import hashlib

HEX = 16
"""How many hexadecimal digits a digest has."""


def digest_of(content: bytes | str) -> str:
    """A digest of some content."""
    raw = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:HEX]
