"""What a site's robots.txt allows (RFC 9309)."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 512_000  # RFC 9309: at least 500 KiB are read, what follows may be left out
MAX_DELAY = 30  # seconds of Crawl-delay obeyed: with more, a site of 3,000 pages is not read within a day


@dataclass(frozen=True)
class Rules:
    """The rules of one robots.txt for one agent. Without a file everything is allowed."""

    agent: str = ""
    parsed: Any = None

    def allow(self, address: str) -> bool:
        """Whether the page may be fetched."""
        return self.parsed is None or bool(self.parsed.can_fetch(address, self.agent))

    @property
    def delay(self) -> float:
        """Seconds between two requests that the site asks for, 0 without."""
        if self.parsed is None:
            return 0
        rate = self.parsed.request_rate(self.agent)
        asked = max(self.parsed.crawl_delay(self.agent) or 0, rate.seconds / rate.requests if rate else 0)
        return float(min(asked, MAX_DELAY))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that the file names, each once."""
        return () if self.parsed is None else tuple(dict.fromkeys(self.parsed.sitemaps))


def parse_robots(body: bytes, user_agent: str) -> Rules:
    """The rules for this agent: the product name before the slash is what robots.txt knows."""
    from protego import Protego

    wide = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = body[:MAX_BYTES].decode("utf-16" if wide else "utf-8-sig", "replace")
    return Rules(agent=user_agent.split("/")[0].strip() or "*", parsed=Protego.parse(text))
