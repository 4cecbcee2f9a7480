"""Only one SELECT passes, in the words of every database; the message says what is allowed."""

from __future__ import annotations

import pytest

from shared.errors import SettingsError
from shared.select_only import select_only

DIALECTS = ["sqlite", "postgresql", "mysql", ""]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "query",
    [
        "select 1",
        "select a, ':x', '10%' from t where x like '%;%'",
        "with a as (select 1) select * from a",
        "select 1 union select 2",
        "(select 1)",
        "select replace(a, 'x', 'y') from t",
        "select * from s.t t left join u using (id) order by 1 limit 5",
        "select 'drop table t'",
    ],
)
def test_a_select_passes_as_it_is(query: str, dialect: str) -> None:
    assert select_only(query, dialect) == query


@pytest.mark.parametrize("end", [";", " ; ", ";;", "; -- done", ";\n/* done */"])
def test_what_ends_it_is_cut(end: str) -> None:
    assert select_only("select ';' from t" + end) == "select ';' from t"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "query",
    [
        "", ";", "sel ect", "select 'a",
        "select 1; drop table t", "select 1; select 2", "begin; select 1; commit",
        "with x as (delete from t returning *) select * from x",
        "with x as (insert into t values (1) returning a) select * from x",
        "insert into t select 1", "update t set a = 1", "delete from t", "replace into t values (1)",
        "merge into t using u on 1 = 1 when matched then delete", "truncate t",
        "create table a as select 1", "drop table t", "alter table t add a int", "grant all on t to x",
        "select * into u from t", "select 1 into outfile '/tmp/x'", "copy t to '/tmp/x'", "select * from t for update",
        "pragma table_info(t)", "attach database 'x' as y", "vacuum", "explain select 1", "lock table t",
        "call foo()", "do $$ begin end $$", "set a = 1",
        "select pg_sleep(10)", "select \"pg_sleep\"(1)", "select set_config('a', 'b', false)", "select nextval('s')",
        "select load_extension('x')", "select * from pg_read_file('/etc/passwd')",
        "select pg_catalog.pg_read_file('/etc/passwd')", "select * from dblink('a', 'b') as t(x int)",
        "select * from t where a = :x", "select ?", "select 1 /*! into outfile '/tmp/x' */",
    ],
)  # fmt: skip
def test_anything_else_is_refused_and_told_what_is_allowed(query: str, dialect: str) -> None:
    with pytest.raises(SettingsError, match="allowed is one SELECT"):
        select_only(query, dialect)
