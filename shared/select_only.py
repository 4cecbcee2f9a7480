"""Is a text one SELECT that only reads? The grammar is sqlglot's; the read-only connection is the second wall."""

from __future__ import annotations

import logging

from shared.errors import SettingsError

ALLOWED = "allowed is one SELECT (WITH, UNION, joins and subqueries included) that changes nothing"
# sqlglot's names of dialects where SQLAlchemy's differ
_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
# Functions that write, wait, or reach files, other servers or the session
_FUNCTIONS = frozenset(
    [
        "load_extension",
        "readfile",
        "writefile",
        "edit",
        "fts3_tokenizer",
        "pg_sleep",
        "pg_sleep_for",
        "pg_sleep_until",
        "set_config",
        "nextval",
        "setval",
        "lo_import",
        "lo_export",
        "lo_create",
        "lo_unlink",
        "lo_put",
        "lo_from_bytea",
        "lowrite",
        "pg_read_file",
        "pg_read_binary_file",
        "pg_ls_dir",
        "pg_stat_file",
        "pg_terminate_backend",
        "pg_cancel_backend",
        "pg_reload_conf",
        "pg_rotate_logfile",
        "pg_notify",
        "pg_advisory_lock",
        "pg_try_advisory_lock",
        "pg_advisory_xact_lock",
        "dblink",
        "dblink_exec",
        "dblink_connect",
        "query_to_xml",
        "database_to_xml",
        "cursor_to_xml",
        "load_file",
        "sleep",
        "benchmark",
        "get_lock",
        "xp_cmdshell",
        "openrowset",
        "opendatasource",
    ]
)


def select_only(query: str, dialect: str = "") -> str:
    """The query without what ends it; `dialect` is SQLAlchemy's name of the database.

    Raises:
        SettingsError: it is anything but one SELECT; the message says what is allowed.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that are refused anyway
    name = _DIALECTS.get(dialect, dialect)
    name = name if name in sqlglot.Dialect.classes else ""
    try:
        parsed = sqlglot.parse(query, dialect=name)
        tokens = sqlglot.tokenize(query, dialect=name)
    except (SqlglotError, RecursionError) as error:
        detail = " ".join(str(error).split())[:200]
        raise SettingsError(f"the query cannot be read ({detail}); {ALLOWED}") from None
    statements = [
        s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)
    ]  # a comment after it
    if "/*!" in query:
        raise SettingsError(f"the query has a /*! comment, which MySQL runs as code; {ALLOWED}")
    if len(statements) != 1:
        raise SettingsError(f"the query has {len(statements)} statements; {ALLOWED}")
    (statement,) = statements
    if not isinstance(statement, exp.Select | exp.SetOperation | exp.Subquery):
        raise SettingsError(f"the query is {statement.key.upper()}, not SELECT; {ALLOWED}")
    changing = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Drop, exp.Alter, exp.Pragma, exp.Set)
    for node in statement.walk():
        if isinstance(node, changing) and not isinstance(node, exp.Query):
            raise SettingsError(f"the query contains {node.key.upper()}; {ALLOWED}")
        if isinstance(node, exp.Func):
            function = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            if function.lower() in _FUNCTIONS:
                raise SettingsError(f"the query calls {function}, which does more than read; {ALLOWED}")
        if isinstance(node, exp.Placeholder | exp.Parameter):
            raise SettingsError(f"the query has a parameter ({node.sql()}); {ALLOWED}, written out")
    ends = [token.start for token in tokens if token.token_type is sqlglot.TokenType.SEMICOLON]
    return query[: ends[0]].rstrip() if ends else query
