import { createCitations, pendingMarker, sourceList } from "./citations.js";
import { h, icon, iconButton, link, safeUrl } from "./dom.js";
import { createRenderer } from "./markdown.js";
import { explain } from "./strings.js";

/**
 * Shows one turn of the conversation: the question, and the answer in whatever state it is.
 * @param {import("./conversation.js").Turn} turn
 * @param {object} context
 * @param {(key: string, values?: object) => string} context.t
 * @param {string} [context.contactUrl]
 * @param {(turn: object) => void} context.retry
 * @param {(question: string) => void} context.ask
 * @param {(vote: object, turn: object) => Promise<void>} context.vote
 */
export function createTurnView(turn, { t, contactUrl, retry, ask, vote }) {
  const answer = h("article", { class: "answer", "aria-label": t("answer") });
  const question = h("p", { class: "question" }, h("span", { class: "sr" }, t("you")), h("span", { dir: "auto" }, turn.question));
  const element = h("section", { class: "turn" }, question, answer);
  const followUps = h("div", { class: "chips" });
  let citations = null;
  let frame = 0;

  /**
   * What is shown while the answer is being made. It is not read out word by word: `finish` puts in the whole.
   * @param {() => void} painted called after each change of the text shown
   */
  function start(painted) {
    const status = h("span", {}, t("planning"));
    const body = h("div", { class: "body", "aria-live": "off" });
    const render = createRenderer(body, pendingMarker);
    answer.replaceChildren(h("p", { class: "status" }, h("span", { class: "spinner" }), status), body);
    answer.setAttribute("aria-busy", "true");
    const paint = () => {
      frame = 0;
      render(turn.text);
      painted();
    };
    return {
      /** @param {string} text */
      status(text) {
        status.textContent = text;
      },
      /** Draws `turn.text` with the next frame. */
      draw() {
        frame ||= requestAnimationFrame(paint);
      },
    };
  }

  /** The turn as it ended. */
  function finish() {
    cancelAnimationFrame(frame);
    const { result, text, state } = turn;
    const body = h("div", { class: "body" });
    citations = createCitations(result?.citations ?? [], t);
    createRenderer(body, result ? citations.marker : pendingMarker)(text);
    answer.removeAttribute("aria-busy");
    answer.replaceChildren(
      ...[
        text && body,
        state === "failed" && notice("warning", explain(t, turn.error), turn.error !== "too_long"),
        state === "stopped" && notice("info", t("stopped"), true),
        state === "done" && verdict(result.verdict),
        result?.citations.length && sourceList(result.citations, t),
        state === "done" && actions(),
        state === "done" && followUps,
      ].filter(Boolean),
    );
    const chips = (result?.follow_ups ?? []).map((text) => h("button", { type: "button", class: "chip", dir: "auto", onclick: () => ask(text) }, text));
    if (chips.length) followUps.replaceChildren(h("h3", {}, t("followUps")), ...chips);
  }

  function contact() {
    return safeUrl(contactUrl) ? link(contactUrl, { class: "text-button" }, t("contact")) : null;
  }

  function notice(kind, text, canRetry) {
    const again = canRetry && h("button", { type: "button", class: "text-button only-last", onclick: () => retry(turn) }, icon("retry"), t("retry"));
    const buttons = [again, kind === "warning" && contact()].filter(Boolean);
    return h("div", { class: `notice ${kind}` }, icon(kind), h("p", {}, h("bdi", {}, text)), buttons.length > 0 && h("div", { class: "buttons" }, ...buttons));
  }

  function verdict(name) {
    if (!["partial", "not_in_site", "out_of_scope", "unavailable"].includes(name)) return null;
    const way = contact();
    return h("div", { class: `notice info ${name}` }, icon("info"), h("p", {}, h("bdi", {}, t(name))), way && h("div", { class: "buttons" }, way));
  }

  function actions() {
    const said = h("span", { class: "said", role: "status" });
    const copy = iconButton("copy", t("copy"), async () => {
      const sources = turn.result.citations.map(({ n, title, url }) => `[${n}] ${title}: ${url}`);
      try {
        await navigator.clipboard.writeText([turn.text, sources.join("\n")].filter(Boolean).join("\n\n"));
        said.textContent = t("copied");
        copy.replaceChildren(icon("check"));
      } catch (error) {
        console.warn("portavoz:", error); // no permission, or a page without https
        said.textContent = t("copyFailed");
      }
    });
    const again = iconButton("retry", t("retry"), () => retry(turn));
    again.classList.add("only-last");
    const feedback = createFeedback(turn, { t, vote, said });
    return h("div", {}, h("div", { class: "actions" }, copy, again, ...feedback.buttons, said), feedback.form);
  }

  if (turn.state !== "pending") finish();
  return { element, start, finish, closeCard: () => citations?.close() ?? false };
}

/**
 * Thumbs up and down, and the form for a comment that appears after a vote.
 * @param {import("./conversation.js").Turn} turn
 * @param {object} context
 * @param {(key: string) => string} context.t
 * @param {(vote: {rating: 1|-1, comment?: string}, turn: object) => Promise<void>} context.vote
 * @param {HTMLElement} context.said where the outcome is told
 * @returns {{buttons: HTMLButtonElement[], form: HTMLFormElement}}
 */
function createFeedback(turn, { t, vote, said }) {
  const comment = h("textarea", { rows: "2", maxlength: "1000", "aria-label": t("comment"), placeholder: t("comment"), dir: "auto" });
  const form = h("form", { class: "comment", hidden: true, onsubmit: sendComment }, comment, h("button", { class: "text-button" }, t("sendComment")));
  const up = iconButton("up", t("up"), () => rate(1));
  const down = iconButton("down", t("down"), () => rate(-1));

  function show() {
    up.setAttribute("aria-pressed", String(turn.rating === 1));
    down.setAttribute("aria-pressed", String(turn.rating === -1));
  }

  async function send(ballot) {
    try {
      await vote(ballot, turn);
      said.textContent = t("thanks");
      return true;
    } catch (error) {
      console.warn("portavoz:", error);
      said.textContent = t("feedbackFailed");
      return false;
    }
  }

  async function rate(rating) {
    const before = turn.rating;
    turn.rating = rating;
    show();
    if (await send({ rating })) {
      form.hidden = false;
      form.scrollIntoView({ block: "nearest" });
    } else {
      turn.rating = before;
      show();
    }
  }

  async function sendComment(event) {
    event.preventDefault();
    const text = comment.value.trim();
    if (text && !(await send({ rating: turn.rating, comment: text }))) return;
    form.hidden = true;
    up.focus();
  }

  show();
  return { buttons: [up, down], form };
}
