"""What the servers said of the pages of a source, kept from run to run for conditional requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from functions.indexing.chunking import digest
from functions.indexing.pages import Visit, Visits
from functions.indexing.rows import INCOMPLETE, Known
from shared.journal import VISITS
from shared.records import Record
from shared.settings import Source

if TYPE_CHECKING:
    from functions.indexing.index import Indexer


class VisitLog(Record):
    """The visits of one source by URL; of use only while pages become rows in the same way."""

    made_by: str
    visits: dict[str, Visit]


async def load_visits(indexer: Indexer, source: Source, known: Mapping[str, Known], *, full: bool) -> Visits:
    """The visits of the last run, of pages that have rows.

    Where the rows are not what they should be, or are made anew, a visit cannot be answered with "not modified":
    it only tells which page was found at an address.
    """
    log = (await indexer.journal.all(VISITS, VisitLog)).get(source.name)
    if log is None:
        return Visits()
    anew = full or log.made_by != _made_by(indexer, source)
    right = {page for page, k in known.items() if not anew and not k.page_hash.startswith(INCOMPLETE)}
    return Visits(
        before={
            url: visit
            if visit.page_id in right
            else visit.model_copy(update={"etag": "", "last_modified": ""})
            for url, visit in log.visits.items()
            if visit.page_id in known
        }
    )


async def save_visits(indexer: Indexer, source: Source, visits: Visits, *, whole: bool) -> None:
    """Keep this run's visits for the next; a run that broke off keeps the earlier ones of pages not reached."""
    kept = dict(visits.now) if whole else {**visits.before, **visits.now}
    if kept != dict(visits.before):
        log = VisitLog(made_by=_made_by(indexer, source), visits=kept)
        await indexer.journal.put(VISITS, {source.name: log})


def _made_by(indexer: Indexer, source: Source) -> str:
    settings = indexer.settings
    products = [p.model_dump_json() for p in settings.products]
    return digest(
        indexer.made_by,
        source.model_dump_json(),
        settings.site.model_dump_json(),
        *products,
        *settings.content_types,
    )
