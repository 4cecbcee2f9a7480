"""The dialog and its launcher on the visitor's site: opening, keyboard, languages, looks, and pages that get in the way."""

import pytest
from playwright.sync_api import expect

LANGUAGES = {
    "en": ("Ask a question", "Type your question…"),
    "es": ("Haz una pregunta", "Escribe tu pregunta…"),
    "fr": ("Poser une question", "Écrivez votre question…"),
    "de": ("Frage stellen", "Ihre Frage…"),
    "pt": ("Faça uma pergunta", "Escreva a sua pergunta…"),
    "it": ("Fai una domanda", "Scrivi la tua domanda…"),
}


def test_the_panel_is_loaded_only_when_it_is_opened(visit, api):
    page = visit()
    launcher = page.get_by_role("button", name="Ask a question")
    expect(launcher).to_have_attribute("aria-expanded", "false")
    assert [path for path in api.fetched if path.startswith("/widget/")] == []
    launcher.click()
    expect(page.get_by_role("dialog", name="Ask this site")).to_be_visible()
    assert "/widget/panel.js" in api.fetched
    assert page.locator(".composer textarea").evaluate("e => e.getRootNode().activeElement === e")


def test_escape_closes_and_gives_the_focus_back(chat):
    page = chat()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".launcher")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_focus_goes_back_to_the_button_of_the_page_that_opened_it(visit):
    page = visit(body="<button id='help'>Help</button>")
    page.locator("#help").focus()
    page.evaluate("portavoz.open()")
    expect(page.locator(".composer textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_focused()


def test_tab_stays_inside_the_dialog(chat):
    page = chat(data={"starters": "One?|Two?"})
    seen = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "document.activeElement.shadowRoot.activeElement.getAttribute('aria-label') ?? document.activeElement.shadowRoot.activeElement.textContent"
            )
        )
    assert {"Close", "Send", "One?", "Two?", "Type your question…"} <= seen
    assert not any("Ask a question" in name for name in seen)
    page.get_by_role("button", name="Close").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Send")).to_be_focused()


def test_the_pages_own_shortcuts_do_not_fire_while_typing(visit, new_page):
    page = new_page()
    page.add_init_script(
        "window.pressed = []; addEventListener('keydown', (event) => pressed.push(event.key))"
    )
    visit(page=page)
    page.locator(".launcher").click()
    page.locator(".composer textarea").press_sequentially("a/?")
    expect(page.locator(".composer textarea")).to_have_value("a/?")
    assert page.evaluate("pressed") == []


def test_a_panel_that_cannot_be_loaded_is_explained_and_can_be_tried_again(visit):
    page = visit(data={"contact-url": "/contact"})
    page.context.set_offline(True)
    page.locator(".launcher").click()
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    expect(page.get_by_role("link", name="Contact us")).to_have_attribute("href", "/contact")
    page.context.set_offline(False)
    page.locator(".launcher").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_javascript_interface(visit, api):
    api.answer("Yes.")
    page = visit()
    page.evaluate("""() => {
      window.heard = [];
      portavoz.on('open', () => { throw new Error('a mistake of the page') });
      for (const name of ['open', 'close', 'question', 'answer']) portavoz.on(name, (detail) => heard.push([name, detail?.question ?? null]));
      window.off = portavoz.on('close', () => heard.push('never'));
      off();
      window.onerror = () => true; // seen, and so no crash of the page
    }""")
    page.evaluate("portavoz.ask('Is it open?')")
    expect(page.get_by_text("Yes.")).to_be_visible()
    page.evaluate("portavoz.close()")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("heard") == [
        ["open", None],
        ["question", "Is it open?"],
        ["answer", "Is it open?"],
        ["close", None],
    ]


def test_it_speaks_the_language_of_the_page(visit, new_page):
    page = new_page()
    for lang, (launcher, placeholder) in LANGUAGES.items():
        visit(page=page, lang=f"{lang}-XX")
        expect(page.locator(".launcher")).to_have_text(launcher)
        expect(page.locator(".pv")).to_have_attribute("lang", lang)
        page.evaluate("portavoz.open()")
        expect(page.get_by_placeholder(placeholder)).to_be_visible()


def test_data_lang_wins_and_an_unknown_language_falls_back_to_english(chat):
    page = chat(lang="en", data={"lang": "fr", "title": "Le magasin"})
    expect(page.get_by_role("dialog", name="Le magasin")).to_be_visible()
    expect(page.get_by_placeholder("Écrivez votre question…")).to_be_visible()
    page.keyboard.press("Escape")
    expect(chat(lang="ja").get_by_placeholder("Type your question…")).to_be_visible()


def test_every_language_has_every_text(new_page, api):
    page = new_page()
    page.goto(f"{api.origin}/")
    missing = page.evaluate("""async () => {
      const source = await (await fetch('/widget/strings.js')).text();
      const { translator } = await import('/widget/strings.js');
      const keys = [...new Set([...source.matchAll(/^ {4}(\\w+):/gm)].map((match) => match[1]))];
      const lacks = (lang, key) => { try { return !translator(lang)(key) } catch { return true } };
      return ['en', 'es', 'fr', 'de', 'pt', 'it'].flatMap((lang) => keys.filter((key) => lacks(lang, key)).map((key) => lang + '.' + key));
    }""")
    assert missing == []


def test_right_to_left_pages_are_mirrored(chat, api, ask):
    api.answer("يمكنك إرجاع المنتج خلال 30 يومًا.")
    page = chat(lang="ar", html_attributes="dir='rtl'")
    panel = page.get_by_role("dialog").bounding_box()
    assert panel["x"] < 100
    assert page.get_by_role("button", name="Close").bounding_box()["x"] < panel["x"] + 60
    ask(page, "كيف أعيد منتجًا؟")
    answer = page.get_by_text("يمكنك")
    assert answer.evaluate("e => getComputedStyle(e).direction") == "rtl"
    expect(page.locator(".pv")).to_have_attribute("dir", "rtl")


def test_position_left(visit):
    assert visit(data={"position": "left"}).locator(".launcher").bounding_box()["x"] < 40


@pytest.mark.parametrize(
    ("theme", "looks"),
    [("auto", ["white", "black"]), ("light", ["white", "white"]), ("dark", ["black", "black"])],
)
def test_dark_mode(chat, theme, looks):
    page = chat(data={"theme": theme})
    names = {"rgb(255, 255, 255)": "white", "rgb(22, 24, 29)": "black"}
    for scheme, look in zip(("light", "dark"), looks, strict=True):
        page.emulate_media(color_scheme=scheme)
        assert names[page.get_by_role("dialog").evaluate("e => getComputedStyle(e).backgroundColor")] == look


def test_it_takes_the_colours_and_the_font_of_the_site(visit):
    page = visit(
        head="<style nonce='c3RyaWN0'>portavoz-widget { --portavoz-accent: #8a1538; --portavoz-font: Georgia }</style>"
    )
    style = page.locator(".launcher").evaluate(
        "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).fontFamily]"
    )
    assert style == ["rgb(138, 21, 56)", "Georgia"]


def test_on_a_phone_it_fills_the_screen_and_is_modal(chat):
    page = chat(viewport={"width": 390, "height": 760}, has_touch=True, is_mobile=True)
    dialog = page.get_by_role("dialog")
    assert dialog.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 760}
    expect(dialog).to_have_attribute("aria-modal", "true")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_reduced_motion(chat):
    dialog = chat().get_by_role("dialog")
    name = "e => getComputedStyle(e).animationName"
    assert dialog.evaluate(name) == "none"
    dialog.page.emulate_media(reduced_motion="no-preference")
    assert dialog.evaluate(name) == "rise"


def test_every_target_is_at_least_24_pixels(chat, api, ask):
    api.answer(
        "Yes [1].",
        citations=[{"n": 1, "url": "https://a.example/", "title": "A", "quote": "Yes", "supported": True}],
        follow_ups=["More?"],
    )
    page = chat()
    ask(page, "Is it?")
    page.get_by_role("button", name="Source 1: A").click()
    sizes = page.locator("button:visible, .source:visible, .composer textarea").evaluate_all(
        "all => all.map((e) => [e.outerHTML, e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert len(sizes) > 8
    assert [size for size in sizes if min(size[1:]) < 24] == []


HOSTILE = """
body *, portavoz-widget { display: none !important; visibility: hidden !important; opacity: 0 !important; position: static !important;
  transform: scale(0) !important; pointer-events: none !important; clip-path: inset(50%) !important; width: 0 !important; z-index: -1 !important; font-size: 1px !important; color: red !important; }
* { --accent: red; --bg: red; --text: red }
body { transform: translateX(900px); overflow: hidden; zoom: 1 }
::backdrop { background: black !important; display: block !important }
body::before { content: ''; display: block; position: fixed; inset: 0; z-index: 2147483647; background: rgb(255 255 255 / .01) }
"""


def test_hostile_css_neither_hides_nor_moves_nor_covers_it(visit):
    page = visit(head=f"<style nonce='c3RyaWN0'>{HOSTILE}</style>")
    launcher = page.locator(".launcher")
    box = launcher.bounding_box()
    assert box["x"] + box["width"] == pytest.approx(1080, abs=2)
    assert box["y"] + box["height"] == pytest.approx(780, abs=2)
    assert (
        page.evaluate("([x, y]) => document.elementFromPoint(x, y).localName", [box["x"] + 40, box["y"] + 20])
        == "portavoz-widget"
    )
    style = "e => [getComputedStyle(e).opacity, getComputedStyle(e).visibility, getComputedStyle(e).fontSize, getComputedStyle(e).backgroundColor]"
    assert launcher.evaluate(style) == ["1", "visible", "15px", "rgb(52, 70, 212)"]
    launcher.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.locator(".composer textarea").fill("typed")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('portavoz-widget'), '::backdrop').display")
        == "none"
    )


def test_it_survives_a_page_that_swaps_its_body(chat):
    page = chat()
    page.evaluate("document.body.replaceWith(document.createElement('body'))")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.locator(".composer textarea").fill("still here")


def test_a_script_that_is_included_twice_makes_one_widget(visit, api):
    page = visit(head=f"<script src='{api.origin}/widget.js' nonce='c3RyaWN0' defer></script>")
    expect(page.locator("portavoz-widget")).to_have_count(1)


def test_the_shadow_root_is_closed_to_the_page(visit):
    page = visit(peek=False)
    assert page.evaluate("document.querySelector('portavoz-widget').shadowRoot") is None
    page.mouse.click(1000, 750)  # where the launcher is
    page.wait_for_function("document.activeElement.localName === 'portavoz-widget'")
    assert visit().evaluate("modes") == ["closed"]


def test_nothing_breaks_the_strict_policy(chat, api, ask):
    api.answer(
        "**Yes** [1].", citations=[{"n": 1, "url": "/a", "title": "A", "quote": "Yes", "supported": True}]
    )
    page = chat()
    ask(page, "Is it?")
    page.get_by_role("button", name="Source 1: A").click()
    expect(page.locator(".card")).to_be_visible()
    assert page.evaluate("violations") == []
    assert page.evaluate("[...document.querySelectorAll('style')].length") == 0
    assert page.locator(".pv").evaluate("e => e.getRootNode().querySelectorAll('[style]').length") == 0


def test_the_panel_stays_open_over_a_reload_without_taking_the_focus(chat):
    page = chat()
    page.reload()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.activeElement.localName") == "body"
    page.get_by_role("button", name="Close").click()
    page.reload()
    expect(page.locator(".launcher")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_blocked_storage_is_no_obstacle(visit, new_page, api, ask):
    api.answer("Fine.")
    page = new_page()
    page.add_init_script(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('blocked', 'SecurityError') } })"
    )
    visit(page=page)
    page.locator(".launcher").click()
    ask(page, "Is it?")
    expect(page.get_by_text("Fine.")).to_be_visible()


def test_the_api_may_be_elsewhere(chat, api, ask):
    api.answer("Yes.")
    page = chat(csp=False, data={"api": f"{api.site}/"})
    with page.expect_request(f"{api.site}/chat"):
        ask(page, "Is it?")
    expect(page.get_by_text("Yes.")).to_be_visible()
