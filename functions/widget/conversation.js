/** How much of the conversation a question carries along: the server remembers no more. */
const MEMORY_TURNS = 8;
const MEMORY_CHARACTERS = 6000;

/**
 * One question and what became of it.
 * @typedef {object} Turn
 * @property {string} question
 * @property {string} text the answer, so far or final
 * @property {"pending"|"done"|"stopped"|"failed"} state
 * @property {string} [error] code of the failure
 * @property {{answer_id: string, verdict: string, citations: object[], follow_ups: string[]}} [result]
 * @property {1|-1} [rating]
 */

/**
 * The conversation of this tab. It survives reloads and moves between pages, and ends with the tab.
 * @param {string} api
 */
export function createConversation(api) {
  const keys = { turns: `portavoz:turns:${api}`, open: `portavoz:open:${api}` };
  const storage = availableStorage();
  /** @type {Turn[]} */
  let turns = [];

  function read() {
    try {
      turns = JSON.parse(storage?.getItem(keys.turns) ?? "[]");
    } catch (error) {
      console.warn("portavoz: the stored conversation cannot be read, a new one is started", error);
    }
    for (const turn of turns) if (turn.state === "pending") turn.state = "stopped"; // the page was left meanwhile
  }

  function write(key, value) {
    try {
      storage?.setItem(key, value);
    } catch (error) {
      console.warn("portavoz: the conversation will not survive a reload", error); // quota
    }
  }

  read();
  return {
    get turns() {
      return turns;
    },
    /** @param {string} question @returns {Turn} */
    add(question) {
      const turn = { question, text: "", state: "pending" };
      turns.push(turn);
      return turn;
    },
    save() {
      write(keys.turns, JSON.stringify(turns));
    },
    clear() {
      turns = [];
      this.save();
    },
    /** @param {boolean} open */
    rememberOpen(open) {
      write(keys.open, open ? "yes" : "no");
    },
    /**
     * The messages that the server needs to answer `turn`.
     * @param {Turn} turn
     */
    messages(turn) {
      const before = turns.slice(0, turns.indexOf(turn)).filter(({ text }) => text).slice(-MEMORY_TURNS);
      const past = before.flatMap(({ question, text }) => [
        { role: "user", content: question },
        { role: "assistant", content: text.slice(0, MEMORY_CHARACTERS) },
      ]);
      return [...past, { role: "user", content: turn.question }];
    },
  };
}

function availableStorage() {
  try {
    return window.sessionStorage;
  } catch (error) {
    console.warn("portavoz: storage is blocked here, the conversation will not survive a reload", error);
    return null;
  }
}
