"""Settings: what is accepted, and errors that name the file or variable, the key, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from shared.errors import SettingsError
from shared.settings import Settings, load_settings, secret

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(toml: str) -> Path:
        file = tmp_path / "portavoz.toml"
        file.write_text(toml, encoding="utf-8")
        return file

    return to_file


def error(file: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(file)
    return str(caught.value)


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings()
    assert settings.indexing.chunk_words == 150
    assert settings.indexing.overlap_words == 50
    assert settings.chat.max_retrievals == 3
    assert settings.retrieval.threshold == "auto"
    assert settings.schedule.reindex == "0 3 * * *"
    assert settings.store.uri == str(tmp_path / ".portavoz")


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "none.toml"
    assert str(missing) in error(missing)
    monkeypatch.setenv("PORTAVOZ_CONFIG", str(missing))
    with pytest.raises(SettingsError, match="PORTAVOZ_CONFIG"):
        load_settings()


def test_the_variable_names_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAVOZ_CONFIG", str(write('[site]\nname = "Acme"')))
    assert load_settings().site.name == "Acme"


def test_a_whole_file_is_read(write: Write, tmp_path: Path) -> None:
    settings = load_settings(
        write("""
        content_types = ["guide", "faq"]
        [site]
        name = "Acme"
        languages = ["es", "en"]
        [store]
        uri = "data/index"
        [[products]]
        id = "shop"
        name = "Acme Shop"
        aliases = ["tienda"]
        [[sources]]
        name = "docs"
        kind = "folder"
        path = "docs"
        product = "shop"
        content_type = "faq"
        [models.chat]
        model = "qwen3"
        base_url = "http://localhost:11434/v1"
        [retrieval]
        threshold = 0.5
        """)
    )
    assert settings.sources[0].path == tmp_path / "docs"
    assert settings.store.uri == str(tmp_path / "data" / "index")
    assert settings.products[0].aliases == ("tienda",)
    assert settings.retrieval.threshold == 0.5


def test_paths_count_from_the_file_not_from_the_working_directory(write, tmp_path, monkeypatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    file = write('[store]\nuri = "index"\n[[sources]]\nname="d"\nkind="folder"\npath="../docs"')
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings = load_settings(file)
    assert settings.store.uri == str(tmp_path / "index")
    assert settings.sources[0].path == tmp_path.parent / "docs"


@pytest.mark.parametrize("uri", ["s3://bucket/prefix", "gs://bucket/x"])
def test_the_uri_of_a_bucket_is_left_as_it_is(write: Write, uri: str) -> None:
    assert load_settings(write(f'[store]\nuri = "{uri}"')).store.uri == uri


@pytest.mark.parametrize(
    ("toml", "key", "allowed"),
    [
        ("colour = 1", "colour", "content_types"),
        ("[site]\ncolour = 1", "site.colour", "contact_url"),
        ("[models.chat]\nmodle = 'x'", "models.chat.modle", "base_url"),
        ("[models.poet]\nmodel = 'x'", "models.poet", "enrichment"),
        ("[[products]]\nid='a'\nname='A'\nalias=['b']", "products.0.alias", "aliases"),
        ("[[sources]]\nname='a'\nkind='folder'\npath='.'\nfolder='x'", "sources.0.folder", "base_url"),
        ("[chat.routes]\nphone = true", "chat.routes.phone", "documents"),
    ],
)
def test_an_unknown_key_is_named_with_those_allowed(write: Write, toml: str, key: str, allowed: str) -> None:
    file = write(toml)
    message = error(file)
    assert message.startswith(f"{file}: {key}: unknown key")
    assert allowed in message


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ("[[products]]\nid = 'a'", "products.0.name"),
        ("[[sources]]\nname='a'\nkind='folder'", "sources.0.path"),
    ],
)
def test_a_missing_key_is_named(write: Write, toml: str, key: str) -> None:
    message = error(write(toml))
    assert key in message
    assert "required" in message


@pytest.mark.parametrize(
    ("toml", "key", "says"),
    [
        ("[indexing]\nchunk_words = 'many'", "indexing.chunk_words", "'many'"),
        ("[indexing]\nchunk_words = 5", "indexing.chunk_words", "40"),
        ("[indexing]\nchunk_words = 100\noverlap_words = 60", "indexing", "half of chunk_words (50)"),
        ("[retrieval]\nthreshold = 2", "retrieval.threshold", "1"),
        ("[retrieval]\nthreshold = 'high'", "retrieval.threshold", "auto"),
        ("[retrieval]\nlimit = 0", "retrieval.limit", "1"),
        ("[site]\nlanguages = ['Spanish']", "site.languages.0", "Spanish"),
        ("content_types = []", "content_types", "1"),
        ("[[sources]]\nname='a'\nkind='ftp'\npath='.'", "sources.0.kind", "folder"),
        ("[[sources]]\nname='a b/c'\nkind='folder'\npath='.'", "sources.0.name", "a b/c"),
        ("[[sources]]\nname='a'\nkind='folder'\npath='.'\nproduct='x'", "settings", "'x'"),
        ("[[sources]]\nname='a'\nkind='folder'\npath='.'\ncontent_type='x'", "settings", "'x'"),
        ("[[products]]\nid='a'\nname='A'\n[[products]]\nid='a'\nname='B'", "settings", "'a' is used twice"),
        ("[[sources]]\nname='a'\nkind='folder'\npath='.'\n[[sources]]\nname='a'\nkind='folder'\npath='b'",
         "settings", "'a' is used twice"),
        ("[schedule]\nreindex = 'daily'", "schedule.reindex", "five cron fields"),
        ("[schedule]\nreindex = '61 3 * * *'", "schedule.reindex", "cron"),
        ("[schedule]\nreindex = '* * * * * *'", "schedule.reindex", "five cron fields"),
        ("[schedule]\ntimezone = 'Mars/Olympus'", "schedule.timezone", "IANA"),
        ("[models.chat]\ntimeout_s = 0", "models.chat.timeout_s", "0"),
        ("site = 'Acme'", "site", "SiteSettings"),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_with_what_is_allowed(write: Write, toml: str, key: str, says: str) -> None:
    file = write(toml)
    message = error(file)
    assert message.startswith(f"{file}: {key}: ")
    assert says in message


def test_every_mistake_is_told_at_once(write: Write) -> None:
    assert len(error(write("[site]\na = 1\n[indexing]\nchunk_words = 1")).splitlines()) == 2


def test_a_file_that_is_no_toml_is_told(write: Write, tmp_path: Path) -> None:
    assert "TOML" in error(write("[site\n"))
    (tmp_path / "latin.toml").write_bytes('[site]\nname = "Peñón"'.encode("latin-1"))
    assert "latin.toml" in error(tmp_path / "latin.toml")


@pytest.mark.parametrize("cron", ["", "*/5 * * * *", "0 3 * * 1-5"])
def test_good_schedules_are_taken(write: Write, cron: str) -> None:
    toml = f'[schedule]\nreindex = "{cron}"\ntimezone = "Europe/Madrid"'
    assert load_settings(write(toml)).schedule.reindex == cron


def test_a_variable_overrides_the_file_and_leaves_its_neighbours(write: Write, monkeypatch) -> None:
    monkeypatch.setenv("PORTAVOZ_SITE__NAME", "From the environment")
    monkeypatch.setenv("PORTAVOZ_SITE__LANGUAGES", '["fr"]')
    monkeypatch.setenv("PORTAVOZ_MODELS__CHAT__MODEL", "other")
    monkeypatch.setenv("PORTAVOZ_RETRIEVAL__THRESHOLD", "0.6")
    file = write(
        '[site]\nname = "x"\nurl = "https://x.example"\n[models.chat]\nmodel = "m"\nbase_url = "http://m/v1"'
    )
    settings = load_settings(file)
    assert settings.site.name == "From the environment"
    assert settings.site.url == "https://x.example"
    assert settings.site.languages == ("fr",)
    assert (settings.models.chat.model, settings.models.chat.base_url) == ("other", "http://m/v1")
    assert settings.retrieval.threshold == 0.6


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORTAVOZ_INDEXING__CHUNK_WORDS", "many"),
        ("PORTAVOZ_MODELS__CHAT__TIMEOUT_S", "soon"),
        ("PORTAVOZ_SITE__COLOUR", "red"),
        ("PORTAVOZ_SCHEDULE__TIMEZONE", "Mars"),
        ("PORTAVOZ_SITES__NAME", "x"),
    ],
)
def test_a_bad_variable_is_named_not_the_file(write: Write, monkeypatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    file = write('[site]\nname = "x"')
    message = error(file)
    assert message.startswith(f"{variable}:")
    assert str(file) not in message


def test_a_list_in_a_variable_must_be_json(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAVOZ_SITE__LANGUAGES", "es,en")
    message = error(write(""))
    assert message.startswith("PORTAVOZ_SITE__LANGUAGES:")
    assert "JSON" in message


def test_variables_without_a_section_are_left_alone(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAVOZ_ADMIN_TOKEN", "s3cret")
    assert load_settings(write("")).web.admin_token_env == "PORTAVOZ_ADMIN_TOKEN"
    assert secret("PORTAVOZ_ADMIN_TOKEN") == "s3cret"


def test_an_empty_secret_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "")
    assert secret("A_KEY") is None


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().site.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("toml", "key", "says"),
    [
        ('[site]\nlanguages = []', "site.languages", "at least one"),
        ('[site]\ncontact_url = "javascript:alert(1)"', "site.contact_url", "mailto:"),
        ('[site]\ncontact_url = "contact us"', "site.contact_url", "https://"),
        ('[site]\nurl = "acme.example"', "site.url", "https://"),
        ('[models.chat]\nmodel = "m"\nbase_url = "localhost:8000/v1"', "models.chat.base_url", "http://"),
        ('[models.judge]\nmodel = "m"\nbase_url = "http://[::1"', "models.judge.base_url", "not an address"),
        ('[models.chat]\nmodel = "m"\nbase_url = "http://host:99999/v1"', "models.chat.base_url", "not an address"),
        ('[models.chat]\nmodel = "m"\nbase_url = "http://:80/v1"', "models.chat.base_url", "host is missing"),
        ('[models.chat]\nmodel = "m"\nbase_url = "http://a b/v1"', "models.chat.base_url", "http://"),
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_told_before_it_is_used(
    write: Write, toml: str, key: str, says: str
) -> None:
    message = error(write(toml))
    assert key in message
    assert says in message


@pytest.mark.parametrize(
    "contact", ["", "https://acme.example/contact", "mailto:team@acme.example", "tel:+34600123456"]
)
def test_the_team_is_reached_by_page_mail_or_telephone(write: Write, contact: str) -> None:
    assert load_settings(write(f'[site]\ncontact_url = "{contact}"')).site.contact_url == contact


@pytest.mark.parametrize(
    "url", ["http://[::1]:8000/v1", "https://api.acme.example/v1", "http://localhost:11434/v1"]
)
def test_servers_of_all_kinds_have_an_address(write: Write, url: str) -> None:
    assert load_settings(write(f'[models.chat]\nmodel = "m"\nbase_url = "{url}"')).models.chat.base_url == url
