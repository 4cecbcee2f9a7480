"""The plain search box, and the demo page that has both."""

import json

import pytest
from playwright.sync_api import expect

BODY = "<div id='box'></div>"


@pytest.fixture
def found(api, reply):
    def script(*chunks, verdict="matched"):
        result = {
            "query": "q",
            "verdict": verdict,
            "chunks": list(chunks),
            "filters_applied": {},
            "filters_relaxed": [],
        }
        api.will(
            "/retrieve",
            reply(
                [json.dumps({"results": [result], "threshold": 0.8}).encode()],
                content_type="application/json",
            ),
        )

    return script


def chunk(
    title="Returns",
    section="Time limits",
    url="https://shop.example/returns",
    summary="",
    text="Within 30 days.",
):
    return {"title": title, "section": section, "url": url, "summary": summary, "text": text, "score": 0.91}


@pytest.fixture
def search(visit):
    def go(query, **options):
        page = visit(data={"mode": "search", "target": "#box"}, body=BODY, **options)
        page.get_by_role("searchbox", name="Search this site").fill(query)
        page.keyboard.press("Enter")
        return page

    return go


def test_results(search, api, found):
    found(chunk(text="word " * 200), chunk(title="Bad", url="javascript:alert(1)", section="Bad"))
    page = search(" return ")
    expect(page.get_by_role("status")).to_have_text("Results: 2")
    rows = page.get_by_role("listitem")
    expect(rows.nth(0).get_by_role("link", name="Returns")).to_have_attribute(
        "href", "https://shop.example/returns"
    )
    expect(rows.nth(0)).to_contain_text("Time limits")
    assert len(rows.nth(0).locator("p").text_content()) < 230
    expect(rows.nth(1).get_by_role("link")).to_have_count(0)
    assert api.bodies("/retrieve") == [{"queries": ["return"], "limit": 8}]
    assert page.evaluate("violations") == []
    assert page.locator("#box portavoz-search").count() == 1
    assert page.evaluate("modes") == ["closed"]


def test_nothing_found_and_weak_matches(search, found):
    found()
    page = search("moon")
    expect(page.get_by_role("status")).to_have_text("Nothing on this site matches “moon”. Try other words.")
    found(chunk(), verdict="weak")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Results: 1 · These pages match only loosely.")


def test_a_failure_is_explained_and_can_be_tried_again(search, api, found, refuse):
    api.will("/retrieve", refuse(429, "rate_limited"))
    page = search("return")
    expect(page.get_by_role("status")).to_contain_text("Please wait a minute")
    page.context.set_offline(True)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("status")).to_contain_text("You are offline")
    page.context.set_offline(False)
    found(chunk())
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("status")).to_have_text("Results: 1")


def test_the_newest_search_wins(search, api, found, gate, reply):
    slow = reply([gate, b"{}"], content_type="application/json")
    found(chunk())
    api.replies["/retrieve"].insert(0, slow)
    page = search("slow")
    expect(page.get_by_role("status")).to_have_text("Searching…")
    page.get_by_role("searchbox").fill("fast")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Results: 1")


def test_without_a_target_the_box_is_where_the_script_is(visit, found):
    found(chunk())
    page = visit(data={"mode": "search"}, lang="es")
    expect(page.get_by_role("searchbox", name="Buscar en este sitio")).to_be_visible()
    page.evaluate("portavoz.ask('devolver')")
    expect(page.get_by_role("status")).to_have_text("Resultados: 1")


def test_a_target_that_does_not_exist_is_reported(visit, new_page):
    page = new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    visit(page=page, data={"mode": "search", "target": "#nowhere"})
    assert said == ['portavoz: data-target "#nowhere" matches nothing']


def test_a_search_box_that_cannot_be_loaded_says_so(visit, new_page):
    page = new_page()
    page.route("**/widget/search.js*", lambda route: route.abort())
    visit(page=page, data={"mode": "search", "target": "#box"}, body=BODY)
    expect(page.locator("#box .pv")).to_contain_text("could not be loaded")


@pytest.mark.parametrize(
    ("locale", "heading", "launcher"),
    [("en-GB", "Your site answers", "Ask a question"), ("es-ES", "Tu sitio responde", "Haz una pregunta")],
)
def test_the_demo_page(new_page, api, found, locale, heading, launcher):
    found(chunk())
    api.answer("Yes.")
    page = new_page(locale=locale)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{api.origin}/")
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    snippet = f'<script src="{api.origin}/widget.js" defer></script>'
    expect(page.locator("#snippet")).to_have_text(snippet)
    page.locator("#copy").click()
    expect(page.locator("#copied")).not_to_be_empty()
    assert page.evaluate("navigator.clipboard.readText()") == snippet
    page.get_by_role("searchbox").fill("return")
    page.keyboard.press("Enter")
    expect(page.locator("portavoz-search li")).to_have_count(1)
    page.locator("#ask").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_role("dialog").get_by_role("textbox").fill("Is it free?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Yes.")).to_be_visible()
    page.get_by_role("dialog").press("Escape")
    expect(page.locator("#ask")).to_be_focused()
    assert page.evaluate("violations") == []


def test_the_demo_page_changes_language(new_page, api):
    page = new_page(locale="en-GB")
    page.goto(f"{api.origin}/")
    page.get_by_role("link", name="Español").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Tu sitio responde")
    expect(page.locator(".launcher")).to_have_text("Haz una pregunta")
    expect(page.locator("html")).to_have_attribute("lang", "es")
