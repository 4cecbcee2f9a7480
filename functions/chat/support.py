"""Whether a passage supports a sentence: its words, its figures where they belong, and what it denies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from functions.chat.evidence import Clause, Evidence, Statement
from functions.chat.figures import Figure, figures
from functions.chat.words import content_words, denials
from shared.errors import ModelUnavailable
from shared.trace import current_trace

SHARED = 0.6  # of a sentence's content words: less is another statement (0.5 lets swapped facts through)
COMBINED = 3  # statements of a passage that one sentence may sum up
INHERITED = (
    0.6  # of a word: "the full ticket is 14 euros, the reduced 9" says of the reduced ticket 9, not 14
)
SCOPE = 2  # words after a negation that it certainly denies
Similar = Callable[[Sequence[str]], Awaitable[np.ndarray]]  # unit vectors of texts


class Claim:
    """A sentence of an answer."""

    def __init__(self, statement: Statement, plain: str) -> None:
        self.plain = plain
        self.clauses = statement.clauses
        self.words = statement.words
        self.figures = [(c, f) for c in statement.clauses for f in figures(c.text, c.language)]

    @property
    def says_nothing(self) -> bool:
        """Whether it has neither a word of meaning nor a figure: "Yes."."""
        return not self.figures and not any(c.denied for c in self.clauses) and not self.words


class Judge:
    """Holds the claims of one answer against its passages; each passage is split and embedded once."""

    def __init__(self, evidence: Sequence[Evidence], similar: Similar, alike: float) -> None:
        self._evidence = evidence
        self._similar = similar
        self._alike = alike
        self._vectors: dict[int, np.ndarray] = {}

    def by_words(self, claim: Claim, numbers: Sequence[int]) -> dict[int, str]:
        """The passages that say it in its words, most of them first, each with the statement that says most."""
        found: dict[int, tuple[float, str]] = {}
        for number in numbers:
            evidence = self._evidence[number - 1]
            chosen, share = _covering(claim, evidence)
            if not chosen or share < SHARED:
                continue
            if _figures_fit(claim, evidence, chosen) and _denies_alike(claim, evidence.clauses):
                found[number] = (share, chosen[0].text)
        return {n: found[n][1] for n in sorted(found, key=lambda n: -found[n][0])}

    async def by_meaning(self, claim: Claim, numbers: Sequence[int]) -> dict[int, str]:
        """The passages that say it in other words or another language."""
        found: dict[int, str] = {}
        if not numbers:
            return found
        try:
            vector = (await self._similar([claim.plain]))[0]
            for number in numbers:
                evidence = self._evidence[number - 1]
                scores = await self._embedded(number) @ vector
                best = int(scores.argmax())
                near = [
                    s for s, score in zip(evidence.statements, scores, strict=True) if score >= self._alike
                ]
                if (
                    float(scores[best]) >= self._alike
                    and _figures_fit(claim, evidence, near)
                    and _same_denial(claim, evidence.statements[best])
                    and _denies_alike(claim, evidence.clauses)
                ):
                    found[number] = evidence.statements[best].text
        except ModelUnavailable as error:  # then words alone decide, and a translation is not recognised
            current_trace().note("meaning not compared", error=str(error))
        return found

    async def _embedded(self, number: int) -> np.ndarray:
        if number not in self._vectors:
            texts = [statement.text for statement in self._evidence[number - 1].statements]
            self._vectors[number] = await self._similar(texts)
        return self._vectors[number]


def _covering(claim: Claim, evidence: Evidence) -> tuple[list[Statement], float]:
    """The few statements that hold most of the claim's words, and the share that they and their headings hold."""
    figured = {figure.value for _, figure in claim.figures}
    left = set(claim.words)
    chosen: list[Statement] = []
    for _ in range(COMBINED):
        rest = [s for s in evidence.statements if s not in chosen]
        best = max(rest, key=lambda s: _gain(s, left, figured), default=None)
        if best is None or (chosen and not left & best.words):
            break
        chosen.append(best)
        left -= best.words
    wanted = claim.words
    held = (wanted - left) | (wanted & evidence.around)
    stated = bool(wanted - left) or bool(figured)
    share = len(held) / len(wanted) if wanted else float(bool(figured))
    return chosen, share if stated else 0.0


def _gain(statement: Statement, wanted: set[str], figured: set[str]) -> tuple[float, int]:
    """Words shared, then figures shared, then brevity."""
    common = sum(f.value in figured for c in statement.clauses for f in c.figures)
    return len(wanted & statement.words) + 0.5 * bool(common), -len(statement.text)


def _figures_fit(claim: Claim, evidence: Evidence, near: Sequence[Statement]) -> bool:
    """Whether each figure is that of the clauses which share most words with its own.

    Where none shares a word, as in a translation, the figure must stand in a near statement.
    """
    for clause, figure in claim.figures:
        if any(figure.agrees(label) for label in evidence.labels):
            continue
        rivals = [
            (_shared(clause, other), f.agrees(figure) or figure.agrees(f))
            for other in evidence.clauses
            for f in other.figures
            if figure.alike(f)
        ]
        most = max((shared for shared, _ in rivals), default=0)
        if not any(same and shared == most for shared, same in rivals):
            return False
        if not most and not _states(near, figure):
            return False
    return True


def _states(statements: Sequence[Statement], figure: Figure) -> bool:
    return any(figure.agrees(f) for s in statements for c in s.clauses for f in c.figures)


def _denies_alike(claim: Claim, others: Sequence[Clause]) -> bool:
    """Whether each clause denies, or does not deny, as the clauses do that share most words with it."""
    for clause in claim.clauses:
        if not clause.denied and any(_contradicts(other, clause, others) for other in others):
            return False
        shares = [_shared(clause, other) for other in others]
        most = max(shares, default=0)
        if not most or (most < 2 and not clause.denied and len(clause.words) > 1):
            continue
        closest = [other for other, shared in zip(others, shares, strict=True) if shared == most]
        if any(bool(other.denied) == bool(clause.denied) for other in closest):
            continue
        if not clause.denied or not _scope_denied(clause, others):
            return False
    return True


def _shared(clause: Clause, other: Clause) -> float:
    """The words in common; a subject that stands in an earlier clause of the sentence counts less."""
    return len(clause.words & other.words) + INHERITED * len(clause.words & other.inherited)


def _contradicts(other: Clause, clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether the page denies in so many words what the clause states, and states it nowhere."""
    if not other.denied or not other.own or not other.own <= clause.words:
        return False
    return not any(not third.denied and other.own <= third.words for third in others)


def _scope_denied(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether what the clause denies is denied somewhere: "without a receipt" by "No receipt is needed"."""
    scopes = [scope for scope in _scopes(clause) if scope]
    return bool(scopes) and all(
        any(other.denied and scope <= other.words for other in others) for scope in scopes
    )


def _scopes(clause: Clause) -> list[set[str]]:
    found = []
    for rest in denials(clause.text, clause.language):
        words: set[str] = set()
        for word in rest.split():
            words |= content_words(word, clause.language)
            if len(words) >= SCOPE:
                break
        found.append(words)
    return found


def _same_denial(claim: Claim, statement: Statement) -> bool:
    """For a translation, whose clauses cannot be told by their words."""
    if any(clause.denied for clause in claim.clauses):
        return any(clause.denied for clause in statement.clauses)
    return any(not clause.denied for clause in statement.clauses)
