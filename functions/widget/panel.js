import { createClient } from "./chat.js";
import { createConversation } from "./conversation.js";
import { h, icon, iconButton } from "./dom.js";
import { createTurnView } from "./message.js";
import { translator } from "./strings.js";
import { PANEL_CSS, sheet } from "./style.js";

const MAX_QUESTION = 2000;
const ABOVE_QUESTION = 16; // space left above the question that the view follows

/**
 * Builds the chat dialog inside the widget's shadow root.
 * @param {object} parts
 * @param {Readonly<object>} parts.config what the data attributes said
 * @param {ShadowRoot} parts.root
 * @param {HTMLElement} parts.frame
 * @param {HTMLButtonElement} parts.launcher
 * @param {(event: string, detail?: object) => void} parts.emit
 * @returns {{open: (options?: {focus?: boolean}) => void, close: () => void, ask: (question: string) => Promise<void>}}
 */
export function createPanel({ config, root, frame, launcher, emit }) {
  const t = translator(config.lang);
  const client = createClient(config.api);
  const conversation = createConversation(config.api);
  const views = new Map();
  const small = matchMedia("(max-width: 640px)");
  let running = null; // {stop: AbortController, finished: Promise} of the answer being written
  let cameFrom = null;

  const fresh = iconButton("fresh", t("newChat"), startOver);
  const title = h("h2", { id: "title" }, h("bdi", {}, config.title || t("title")));
  const header = h("header", {}, h("span", { class: "mark" }, launcher.querySelector("svg").cloneNode(true)), title, fresh, iconButton("close", t("close"), close));
  const offline = h("p", { class: "offline", role: "status" });
  const welcome = h("div", { class: "welcome" });
  const turns = h("div", { class: "turns" });
  const log = h("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": t("conversation"), tabindex: "0" }, welcome, turns);
  const input = h("textarea", {
    rows: "1", maxlength: MAX_QUESTION, placeholder: t("placeholder"), "aria-label": t("placeholder"), enterkeyhint: "send", dir: "auto", onkeydown: sendOnEnter,
  });
  const button = h("button", { class: "send" });
  const form = h("form", { class: "composer", onsubmit: submit }, input, button);
  const dialog = h("div", { class: "panel", role: "dialog", "aria-labelledby": "title", hidden: true }, header, offline, log, form);

  root.adoptedStyleSheets.push(sheet(PANEL_CSS));
  frame.append(dialog);
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("click", leaveForPage);
  // The page's own keyboard shortcuts must not fire while a visitor types here.
  for (const type of ["keydown", "keyup", "keypress"]) dialog.addEventListener(type, (event) => event.stopPropagation());
  small.addEventListener("change", showModality);
  for (const type of ["online", "offline"]) addEventListener(type, showConnection);
  for (const turn of conversation.turns) addView(turn);
  showWelcome();
  showButton();
  showModality();
  showConnection();

  function addView(turn) {
    const view = createTurnView(turn, { t, contactUrl: config.contactUrl, retry, ask, vote });
    views.set(turn, view);
    turns.append(view.element);
    return view;
  }

  function showWelcome() {
    const chips = config.starters.map((text) => h("button", { type: "button", class: "chip", dir: "auto", onclick: () => ask(text) }, text));
    const starters = chips.length > 0 && h("div", { class: "chips", role: "group", "aria-label": t("starters") }, ...chips);
    welcome.replaceChildren(h("p", { class: "hello" }, h("bdi", {}, t("hello"))), h("p", {}, h("bdi", {}, t("scope"))), ...[starters].filter(Boolean));
    fresh.hidden = welcome.hidden = conversation.turns.length > 0;
    fresh.hidden = !fresh.hidden;
  }

  /** One button sends and stops, so that the keyboard focus stays where it is. */
  function showButton() {
    const label = t(running ? "stop" : "send");
    button.setAttribute("aria-label", label);
    button.title = label;
    button.replaceChildren(icon(running ? "stop" : "send"));
  }

  function showModality() {
    dialog.setAttribute("aria-modal", String(small.matches)); // full screen on a phone; elsewhere the page stays in reach
  }

  function showConnection() {
    offline.textContent = navigator.onLine ? "" : t("offlineNow");
  }

  /** Scrolls to the end, but never so far that the last question leaves the view: answers are read from the top. */
  function showLastTurn() {
    const last = turns.lastElementChild;
    if (last) log.scrollTop = Math.max(log.scrollTop, Math.min(log.scrollHeight, last.offsetTop - log.offsetTop - ABOVE_QUESTION));
  }

  /** Follows the answer as it grows, until the reader scrolls somewhere else. */
  function createFollower() {
    showLastTurn();
    let left = log.scrollTop;
    return () => {
      const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 2;
      if (Math.abs(log.scrollTop - left) > 2 && !atEnd) return;
      showLastTurn();
      left = log.scrollTop;
    };
  }

  function submit(event) {
    event.preventDefault();
    if (running) return running.stop.abort();
    const question = input.value;
    input.value = "";
    ask(question);
  }

  function sendOnEnter(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!running && input.value.trim()) form.requestSubmit();
  }

  /** Asks in the visitor's name; an answer still being written is stopped first. */
  async function ask(question) {
    const text = question.trim().slice(0, MAX_QUESTION);
    open({ focus: !small.matches });
    if (!text) return;
    await stopRunning();
    const turn = conversation.add(text);
    addView(turn);
    showWelcome();
    emit("question", { question: text });
    await run(turn);
  }

  async function retry(turn) {
    await stopRunning();
    Object.assign(turn, { text: "", state: "pending", error: undefined, result: undefined, rating: undefined });
    input.focus();
    await run(turn);
  }

  async function stopRunning() {
    running?.stop.abort();
    await running?.finished;
  }

  async function run(turn) {
    const stop = new AbortController();
    const finished = answer(turn, stop.signal);
    running = { stop, finished };
    showButton();
    await finished;
    running = null;
    showButton();
  }

  /** Follows one answer to its end, whatever that is. Never throws. */
  async function answer(turn, stop) {
    const view = views.get(turn);
    const live = view.start(() => follow());
    const follow = createFollower();
    conversation.save();
    try {
      const request = { messages: conversation.messages(turn), page_url: location.href };
      for await (const { event, data } of client.chat(request, stop)) {
        if (event === "status") live.status(describe(data, t));
        else if (event === "sources") live.status(t("reading", { titles: [...new Set(data.sources.map((source) => source.title))].join(" · ") }));
        else if (event === "token") turn.text += data.text;
        else if (event === "restart") {
          turn.text = "";
          live.status(t("restarted"));
        } else if (event === "done") Object.assign(turn, { state: "done", text: data.answer, result: data });
        live.draw();
      }
    } catch (error) {
      turn.state = stop.aborted ? "stopped" : "failed";
      if (turn.state === "failed") {
        console.warn("portavoz:", error);
        turn.error = error.code ?? "server";
      }
    }
    view.finish();
    follow();
    conversation.save();
    if (turn.state === "done") emit("answer", { question: turn.question, answer: turn.text, answer_id: turn.result.answer_id, verdict: turn.result.verdict });
    if (turn.state === "failed") emit("error", { question: turn.question, code: turn.error });
  }

  async function vote(ballot, turn) {
    await client.feedback({ answer_id: turn.result.answer_id, ...ballot });
    conversation.save();
    emit("feedback", { answer_id: turn.result.answer_id, ...ballot });
  }

  async function startOver() {
    await stopRunning();
    conversation.clear();
    views.clear();
    turns.replaceChildren();
    showWelcome();
    input.focus();
  }

  function open({ focus = true } = {}) {
    if (dialog.hidden) {
      cameFrom = root.activeElement ?? document.activeElement;
      dialog.hidden = false;
      launcher.hidden = true;
      launcher.setAttribute("aria-expanded", "true");
      conversation.rememberOpen(true);
      showLastTurn();
      emit("open");
    }
    if (focus) input.focus();
  }

  function close() {
    if (dialog.hidden) return;
    dialog.hidden = true;
    launcher.hidden = false;
    launcher.setAttribute("aria-expanded", "false");
    conversation.rememberOpen(false);
    const back = cameFrom?.isConnected && cameFrom !== document.body ? cameFrom : launcher;
    back.focus();
    emit("close");
  }

  /** Escape closes the open preview, then the dialog; Tab stays inside. */
  function onKey(event) {
    if (event.key === "Escape" && !event.isComposing) {
      const card = [...views.values()].some((view) => view.closeCard());
      if (!card) close();
    } else if (event.key === "Tab") {
      const stops = [...dialog.querySelectorAll("a[href], button, textarea, [tabindex='0']")].filter((element) => element.checkVisibility());
      const edge = event.shiftKey ? stops[0] : stops.at(-1);
      if (root.activeElement !== edge) return;
      event.preventDefault();
      (event.shiftKey ? stops.at(-1) : stops[0]).focus();
    }
  }

  /** On a phone the dialog covers the page: a link to this site closes it, to show what was linked. */
  function leaveForPage(event) {
    const href = event.target.closest("a")?.href;
    if (href && small.matches && new URL(href).origin === location.origin) close();
  }

  return { open, close, ask };
}

/** The line shown for a `status` event. */
function describe({ stage, detail }, t) {
  if (stage !== "retrieving") return t(["checking", "writing"].includes(stage) ? stage : "planning");
  const queries = typeof detail === "string" ? detail : (detail?.queries ?? []).join(" · ");
  return t("searching", { queries });
}
