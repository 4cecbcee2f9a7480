"""A conversation, from the visitor's side: every event of the stream and every way in which it can end."""

import threading

from playwright.sync_api import expect

RETURNS = {
    "n": 1, "url": "https://shop.example/returns#:~:text=within%2030%20days", "title": "Returns",
    "quote": "You can return any item within 30 days.", "supported": True,
}  # fmt: skip


def test_a_streamed_answer(chat, api, ask, event):
    gates = [threading.Event() for _ in range(4)]
    api.stream(
        b": ping\n\n", event("status", {"stage": "planning", "detail": None}), gates[0],
        event("status", {"stage": "retrieving", "detail": {"queries": ["returns", "refund time"]}}), gates[1],
        event("sources", {"sources": [{"n": 1, "title": "Returns", "section": "", "url": "/r", "score": 0.9}]}), gates[2], b": ping\n\n",
        event("status", {"stage": "writing", "detail": None}), event("token", {"text": "Within **30"}), event("token", {"text": " days** [1]."}), gates[3],
        api.done("Within **30 days** [1].", citations=[RETURNS]),
    )  # fmt: skip
    page = chat()
    ask(page, "How long?")
    status, answer = page.locator(".status"), page.get_by_role("article")
    expect(page.locator(".question")).to_contain_text("How long?")
    expect(page.locator(".composer textarea")).to_have_value("")
    expect(status).to_have_text("Reading your question…")
    expect(answer).to_have_attribute("aria-busy", "true")
    gates[0].set()
    expect(status).to_have_text("Searching: returns · refund time")
    gates[1].set()
    expect(status).to_have_text("Reading: Returns")
    gates[2].set()
    expect(answer.locator("strong")).to_have_text("30 days")
    expect(status).to_have_text("Writing the answer…")
    expect(answer.locator("span.marker")).to_have_text("1")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    gates[3].set()
    expect(page.get_by_role("button", name="Source 1: Returns")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(status).to_have_count(0)
    assert answer.get_attribute("aria-busy") is None
    assert api.bodies("/chat") == [
        {
            "messages": [{"role": "user", "content": "How long?"}],
            "page_url": f"{api.site}/site/page?x=1",
            "stream": True,
        }
    ]


def test_a_status_detail_may_be_a_string(chat, api, ask, event, gate):
    api.stream(event("status", {"stage": "retrieving", "detail": "opening hours"}), gate)
    page = chat()
    ask(page, "When?")
    expect(page.locator(".status")).to_have_text("Searching: opening hours")


def test_chunks_may_end_anywhere(chat, api, ask, event):
    text = "Año — 30 日 🎉 **listo**"
    wire = (b": ping\n\n" + event("token", {"text": text}) + api.done(text)).replace(b"\n", b"\r\n")
    api.stream(*(wire[i : i + 1] for i in range(len(wire))))
    page = chat()
    ask(page, "?")
    expect(page.locator(".body")).to_have_text("Año — 30 日 🎉 listo")
    expect(page.get_by_role("button", name="Copy answer")).to_be_visible()


def test_restart_clears_the_text_so_far(chat, api, ask, event, gate):
    api.stream(
        event("token", {"text": "Half of a wrong"}),
        gate,
        event("restart", {"reason": "timeout"}),
        event("token", {"text": "Right."}),
        api.done("Right."),
    )
    page = chat()
    ask(page, "?")
    expect(page.locator(".body")).to_have_text("Half of a wrong")
    gate.set()
    expect(page.locator(".body")).to_have_text("Right.")


def test_done_replaces_what_was_streamed(chat, api, ask, event):
    api.stream(event("token", {"text": "True. Made up."}), api.done("True."))
    page = chat()
    ask(page, "?")
    expect(page.get_by_role("button", name="Copy answer")).to_be_visible()
    expect(page.locator(".body")).to_have_text("True.")


def test_citations_show_the_quoted_passage(chat, api, ask):
    doubtful = {"n": 2, "url": "javascript:alert(1)", "title": "Gifts", "quote": "", "supported": False}
    api.answer("Within 30 days [1]. No gifts [2], and [7] is nothing [1, 2].", citations=[RETURNS, doubtful])
    page = chat()
    ask(page, "?")
    first, card = page.get_by_role("button", name="Source 1: Returns").first, page.locator(".card")
    expect(page.locator(".body")).to_contain_text("[7] is nothing")
    first.click()
    expect(card.locator("q")).to_have_text("You can return any item within 30 days.")
    link = card.get_by_role("link", name="Read it on the page")
    expect(link).to_have_attribute("href", RETURNS["url"])
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(first).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(first).to_be_focused()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_role("button", name="Source 2: Gifts").first.click()
    expect(card).to_contain_text("The source does not confirm this fully")
    expect(card.get_by_role("link")).to_have_count(0)
    expect(page.locator(".sources li")).to_have_text(["1Returns", "2Gifts"])


def test_pointing_at_a_citation_is_enough(chat, api, ask):
    api.answer("Within 30 days [1].", citations=[RETURNS])
    page = chat()
    ask(page, "?")
    page.get_by_role("button", name="Source 1: Returns").hover()
    expect(page.locator(".card q")).to_be_visible()
    page.get_by_role("heading", name="Ask this site").hover()
    expect(page.locator(".card")).to_have_count(0)


VERDICTS = {
    "partial": "The site answers this only in part",
    "not_in_site": "The site does not answer this",
    "out_of_scope": "This is outside of what the site covers",
    "unavailable": "The assistant cannot write an answer right now",
}


def test_verdicts_are_told_calmly_with_the_contact_link(chat, api, ask):
    page = chat(data={"contact-url": "mailto:help@shop.example"})
    for verdict, text in VERDICTS.items():
        api.answer("Nothing about that.", verdict=verdict)
        ask(page, "?")
        notice = page.locator(f".notice.{verdict}")
        expect(notice).to_contain_text(text)
        expect(notice.get_by_role("link", name="Contact us")).to_have_attribute(
            "href", "mailto:help@shop.example"
        )
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


REFUSALS = [
    (429, "rate_limited", "Please wait a minute"),
    (413, "body_too_large", "too long for one question"),
    (403, "origin_not_allowed", "not available on this page"),
    (500, "internal", "Something went wrong on our side"),
    (503, "index_unreadable", "Something went wrong on our side"),
]


def test_refusals_are_explained_kindly(chat, api, ask, refuse):
    page = chat(data={"contact-url": "https://shop.example/contact"})
    for status, code, text in REFUSALS:
        api.will("/chat", refuse(status, code))
        ask(page, "?")
        turn = page.locator(".turn").last
        expect(turn.locator(".notice.warning")).to_contain_text(text)
        expect(turn.get_by_role("link", name="Contact us")).to_be_visible()
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        page.get_by_role("button", name="New chat").click()


def test_a_proxy_that_answers_with_html(chat, api, ask, reply):
    api.will("/chat", reply([b"<html>Bad gateway</html>"], 502, "text/html"))
    page = chat()
    ask(page, "?")
    expect(page.locator(".notice.warning")).to_contain_text("Something went wrong on our side")


def test_an_error_event_and_retry(chat, api, ask, event, reply):
    api.will(
        "/chat",
        reply([event("token", {"text": "Half"}), event("error", {"code": "upstream", "message": "x"})]),
        reply([api.done("Whole.")]),
    )
    page = chat()
    ask(page, "Why?")
    expect(page.locator(".notice.warning")).to_contain_text("Something went wrong on our side")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".body")).to_have_text("Whole.")
    expect(page.locator(".notice")).to_have_count(0)
    first, second = api.bodies("/chat")
    assert first == second


def test_a_stream_that_is_cut(chat, api, ask, event):
    page = chat()
    for rest in (b"", b'event: done\ndata: {"answ', b"event: token\ndata: not json\n\n"):
        api.stream(event("token", {"text": "Half"}), rest)
        ask(page, "?")
        expect(page.locator(".notice.warning")).to_contain_text("The connection was lost")
        expect(page.locator(".body")).to_have_text("Half")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
        page.get_by_role("button", name="New chat").click()


def test_a_stream_that_goes_silent(visit, new_page, api, ask, event, gate):
    page = new_page()
    page.clock.install()
    api.stream(event("token", {"text": "Half"}), gate)
    visit(page=page)
    page.locator(".launcher").click()
    ask(page, "?")
    page.clock.run_for(1000)
    expect(page.locator(".body")).to_have_text("Half")
    page.clock.fast_forward(91_000)
    expect(page.locator(".notice.warning")).to_contain_text("The connection was lost")


def test_offline(chat, api, ask):
    api.answer("Back again.")
    page = chat(data={"contact-url": "/contact"})
    page.context.set_offline(True)
    expect(page.locator(".offline")).to_have_text("You are offline")
    ask(page, "Are you there?")
    expect(page.locator(".notice.warning")).to_contain_text("Your question can be sent again")
    expect(page.get_by_role("link", name="Contact us")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator(".offline")).to_be_hidden()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Back again.")).to_be_visible()


def test_stop_keeps_what_was_written(chat, api, ask, event, gate, reply):
    api.will("/chat", reply([event("token", {"text": "So far"}), gate]), reply([api.done("Anew.")]))
    page = chat()
    ask(page, "?")
    expect(page.locator(".body")).to_have_text("So far")
    page.keyboard.press("Enter")  # an Enter too many does not stop it
    expect(page.get_by_role("article")).to_have_attribute("aria-busy", "true")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".notice")).to_contain_text("Stopped before the end")
    expect(page.locator(".body")).to_have_text("So far")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".body")).to_have_text("Anew.")


def test_asking_while_an_answer_is_written_stops_that_one(chat, api, ask, event, gate, reply):
    api.will("/chat", reply([event("token", {"text": "First"}), gate]), reply([api.done("Second answer.")]))
    page = chat()
    ask(page, "One?")
    expect(page.locator(".body")).to_have_text("First")
    page.evaluate("portavoz.ask('Two?')")
    expect(page.get_by_text("Second answer.")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text("Stopped before the end")


def test_copy(chat, api, ask):
    api.answer("Within **30 days** [1].", citations=[RETURNS])
    page = chat()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, "?")
    page.get_by_role("button", name="Copy answer").click()
    expect(page.locator(".said")).to_have_text("Copied")
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == f"Within **30 days** [1].\n\n[1] Returns: {RETURNS['url']}"
    )
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('denied')) }")
    page.get_by_role("button", name="Copy answer").click()
    expect(page.locator(".said")).to_contain_text("select the text instead")


def test_starters_follow_ups_and_memory(chat, api, reply):
    api.will(
        "/chat",
        reply([api.done("Two days.", follow_ups=["And to Spain?"])]),
        reply([api.done("Three days.")]),
    )
    page = chat(data={"starters": "How long is shipping? | Is it free?"})
    page.get_by_role("button", name="How long is shipping?").click()
    page.get_by_role("button", name="And to Spain?").click()
    expect(page.get_by_text("Three days.")).to_be_visible()
    expect(page.get_by_role("button", name="And to Spain?")).to_be_hidden()
    expect(page.get_by_role("button", name="Is it free?")).to_be_hidden()
    assert [message["content"] for message in api.bodies("/chat")[1]["messages"]] == [
        "How long is shipping?",
        "Two days.",
        "And to Spain?",
    ]


def test_only_the_last_turns_are_sent_along(chat, api, ask):
    page = chat()
    for number in range(10):
        api.answer(f"Answer {number}.")
        ask(page, f"Question {number}")
        expect(page.get_by_text(f"Answer {number}.")).to_be_visible()
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    messages = api.bodies("/chat")[-1]["messages"]
    assert len(messages) == 17
    assert messages[0] == {"role": "user", "content": "Question 1"}


def test_new_chat(chat, api, ask):
    api.answer("Yes.")
    page = chat(data={"starters": "One?"})
    expect(page.get_by_role("button", name="New chat")).to_be_hidden()
    ask(page, "Is it?")
    expect(page.get_by_text("Yes.")).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_text("Yes.")).to_have_count(0)
    expect(page.get_by_role("button", name="One?")).to_be_visible()
    expect(page.locator(".composer textarea")).to_be_focused()
    ask(page, "Again?")
    expect(page.get_by_text("Yes.")).to_be_visible()
    assert len(api.bodies("/chat")[1]["messages"]) == 1


def test_the_conversation_survives_a_reload(chat, api, ask, event, gate):
    api.answer("Within 30 days [1].", citations=[RETURNS], follow_ups=["More?"])
    page = chat()
    ask(page, "How long?")
    expect(page.get_by_role("button", name="More?")).to_be_visible()
    api.stream(event("token", {"text": "So"}), gate)
    ask(page, "And then?")
    expect(page.get_by_text("So", exact=True)).to_be_visible()
    page.reload()
    expect(page.locator(".question")).to_contain_text(["How long?", "And then?"])
    expect(page.get_by_role("button", name="Source 1: Returns")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text("Stopped before the end")
    api.answer("Then nothing.")
    page.get_by_role("button", name="Try again").last.click()
    expect(page.get_by_text("Then nothing.")).to_be_visible()
    assert [message["content"] for message in api.bodies("/chat")[-1]["messages"]] == [
        "How long?",
        "Within 30 days [1].",
        "And then?",
    ]


def test_feedback_with_a_comment(chat, api, ask, reply):
    api.will("/feedback", reply([b"{}"], content_type="application/json"))
    api.answer("Yes.")
    page = chat()
    ask(page, "?")
    down = page.get_by_role("button", name="Bad answer")
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".said")).to_have_text("Thank you for your feedback")
    page.get_by_label("What was good, or what was missing?").fill("The price is missing")
    page.get_by_role("button", name="Send comment").click()
    expect(page.locator(".comment")).to_be_hidden()
    assert api.bodies("/feedback") == [
        {"answer_id": "a1", "rating": -1},
        {"answer_id": "a1", "rating": -1, "comment": "The price is missing"},
    ]
    page.reload()
    expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")


def test_feedback_that_fails_is_told_and_taken_back(chat, api, ask, refuse):
    api.will("/feedback", refuse(500, "internal"), refuse(404, "not_found"))
    api.answer("Yes.")
    page = chat()
    ask(page, "?")
    up = page.get_by_role("button", name="Good answer")
    up.click()
    expect(page.locator(".said")).to_contain_text("could not be sent")
    expect(up).to_have_attribute("aria-pressed", "false")
    up.click()  # a server without feedback is no fault of the visitor's
    expect(page.locator(".said")).to_have_text("Thank you for your feedback")


def test_a_session_is_asked_for_once_and_renewed_when_refused(chat, api, ask, refuse, reply):
    def session(token):
        return reply([b'{"token": "%s", "expires_in": 900}' % token], content_type="application/json")

    api.will("/session", session(b"s1"), session(b"s2"))
    api.will(
        "/chat",
        reply([api.done("One.")]),
        reply([api.done("Two.")]),
        refuse(401, "session_expired"),
        reply([api.done("Three.")]),
    )
    page = chat()
    for question, answer in (("1?", "One."), ("2?", "Two."), ("3?", "Three.")):
        ask(page, question)
        expect(page.get_by_text(answer)).to_be_visible()
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    assert [body.get("session") for body in api.bodies("/chat")] == ["s1", "s1", "s1", "s2"]
    assert len(api.bodies("/session")) == 2


def test_a_session_is_renewed_when_it_expires(visit, new_page, api, ask, reply):
    page = new_page()
    page.clock.install()
    api.will(
        "/session",
        *(
            reply([b'{"token": "%s", "expires_in": 60}' % token], content_type="application/json")
            for token in (b"s1", b"s2")
        ),
    )
    visit(page=page)
    page.locator(".launcher").click()
    for answer in ("One.", "Two."):
        api.answer(answer)
        ask(page, "?")
        page.clock.run_for(500)
        expect(page.get_by_text(answer)).to_be_visible()
        page.clock.fast_forward(61_000)
    assert [body["session"] for body in api.bodies("/chat")] == ["s1", "s2"]


def test_without_sessions_it_goes_on_and_does_not_ask_again(chat, api, ask):
    page = chat()
    for answer in ("One.", "Two."):
        api.answer(answer)
        ask(page, "?")
        expect(page.get_by_text(answer)).to_be_visible()
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    assert len(api.bodies("/session")) == 1
    assert all("session" not in body for body in api.bodies("/chat"))


def test_a_refused_session_is_explained(chat, api, ask, refuse):
    api.will("/session", refuse(429, "rate_limited"))
    page = chat()
    ask(page, "?")
    expect(page.locator(".notice.warning")).to_contain_text("Please wait a minute")


def test_the_keyboard_writes_several_lines_and_nothing_is_sent_empty(chat, api):
    api.answer("Yes.")
    page = chat()
    box = page.locator(".composer textarea")
    box.press("Enter")
    box.press_sequentially("one")
    box.press("Shift+Enter")
    box.press_sequentially("two")
    box.press("Enter")
    expect(page.get_by_text("Yes.")).to_be_visible()
    assert [body["messages"][0]["content"] for body in api.bodies("/chat")] == ["one\ntwo"]


def test_a_long_answer_is_read_from_its_question_on(chat, api, ask):
    api.answer("\n\n".join(f"Paragraph {number} says this and that." for number in range(60)))
    page = chat()
    ask(page, "Tell me everything")
    expect(page.get_by_role("button", name="Copy answer")).to_be_attached()
    expect(page.locator(".question")).to_be_in_viewport(ratio=1)


def test_a_link_to_this_site_opens_here_and_on_a_phone_makes_room(chat, api, ask):
    api.answer("See [the page](#returns).")
    page = chat(viewport={"width": 390, "height": 760})
    ask(page, "?")
    link = page.get_by_role("link", name="the page")
    assert link.get_attribute("target") is None
    link.click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.url.endswith("#returns")
