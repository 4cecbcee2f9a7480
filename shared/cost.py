"""What models cost: tokens times price, summed by role."""

from __future__ import annotations

from shared.records import Record, Usage


class Price(Record):
    """USD per million tokens read and written."""

    input: float = 0.0
    output: float = 0.0

    def of(self, usage: Usage) -> float:
        """The cost of `usage` in USD."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000


class Spent(Record):
    """Calls, tokens and money of one role."""

    calls: int = 0
    usage: Usage = Usage()
    usd: float = 0.0
    characters: int = 0  # that were sent


class Ledger:
    """Adds up what the models of one run or of one answer cost."""

    def __init__(self) -> None:
        self.by_role: dict[str, Spent] = {}

    def add(self, role: str, usage: Usage, price: Price, characters: int = 0) -> None:
        """Record one call."""
        before = self.by_role.get(role, Spent())
        self.by_role[role] = Spent(
            calls=before.calls + 1,
            usage=before.usage + usage,
            usd=before.usd + price.of(usage),
            characters=before.characters + characters,
        )

    @property
    def usage(self) -> Usage:
        """Tokens of all roles."""
        return sum((s.usage for s in self.by_role.values()), Usage())

    @property
    def usd(self) -> float:
        """USD of all roles."""
        return sum(s.usd for s in self.by_role.values())

    def calls(self, role: str) -> int:
        """Calls of one role."""
        return self.by_role.get(role, Spent()).calls
