/** The server sends a ping every 15 s: a connection that is silent for longer than this is lost. */
const SILENCE_MS = 90_000;
/** A session is renewed this long before it expires. */
const RENEW_EARLY_MS = 30_000;

/** Anything that kept the server's answer from arriving. `code` chooses the text that the visitor reads. */
export class RequestError extends Error {
  /**
   * @param {string} code
   * @param {string} [message]
   * @param {number} [status]
   */
  constructor(code, message = code, status = 0) {
    super(message);
    this.name = "RequestError";
    this.code = code;
    this.status = status;
  }
}

/**
 * The HTTP side of the widget.
 * @param {string} api address of the API, without a slash at the end
 */
export function createClient(api) {
  /** @type {{token?: string, expires: number}|null} */
  let session = null;

  async function post(path, body, signal) {
    let response;
    try {
      response = await fetch(api + path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        credentials: "omit",
        signal,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new RequestError(navigator.onLine ? "network" : "offline", String(error));
    }
    if (response.ok) return response;
    const text = await response.text();
    throw errorOf(response.status, text);
  }

  /** The session token, where the server hands them out (404: it does not). */
  async function sessionToken(signal) {
    if (session && Date.now() < session.expires) return session.token;
    try {
      const { token, expires_in: seconds } = await (await post("/session", {}, signal)).json();
      session = { token, expires: Date.now() + seconds * 1000 - RENEW_EARLY_MS };
    } catch (error) {
      if (error.status !== 404) throw error;
      session = { expires: Infinity };
    }
    return session.token;
  }

  async function openChat(request, signal) {
    const token = await sessionToken(signal);
    const body = { ...request, stream: true, ...(token && { session: token }) };
    return post("/chat", body, signal);
  }

  /**
   * Asks, and yields the events of the answer. It ends with `done`, or throws.
   * @param {{messages: {role: string, content: string}[], page_url: string}} request
   * @param {AbortSignal} stop
   * @returns {AsyncGenerator<{event: string, data: any}>}
   */
  async function* chat(request, stop) {
    const silence = new AbortController();
    const signal = AbortSignal.any([stop, silence.signal]);
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    heard();
    try {
      let response;
      try {
        response = await openChat(request, signal);
      } catch (error) {
        if (error.status !== 401) throw error;
        session = null;
        response = await openChat(request, signal);
      }
      for await (const { event, data } of readEvents(response.body, heard)) {
        const payload = JSON.parse(data);
        if (event === "error") throw new RequestError(payload.code, payload.message);
        yield { event, data: payload };
        if (event === "done") return;
      }
      throw new RequestError("cut", "the stream ended before the answer did");
    } catch (error) {
      if (stop.aborted || error instanceof RequestError) throw error;
      throw new RequestError(navigator.onLine ? "cut" : "offline", String(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Searches without a conversation.
   * @param {string} query
   * @param {AbortSignal} signal
   */
  async function retrieve(query, signal) {
    const response = await post("/retrieve", { queries: [query], limit: 8 }, signal);
    return (await response.json()).results[0];
  }

  /**
   * Sends a vote. A server without feedback (404) is no fault of the visitor's, who is thanked all the same.
   * @param {{answer_id: string, rating: 1|-1, comment?: string}} vote
   */
  async function feedback(vote) {
    try {
      await post("/feedback", vote);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }

  return { chat, retrieve, feedback };
}

/** The error that a refused request carries; a proxy in between may have answered with something else than JSON. */
function errorOf(status, text) {
  const known = { 401: "forbidden", 403: "forbidden", 413: "too_long", 429: "rate_limited" }[status];
  let detail = {};
  try {
    detail = JSON.parse(text).error ?? {};
  } catch {
    detail = { message: text.slice(0, 200) };
  }
  return new RequestError(known ?? detail.code ?? "server", detail.message, status);
}

/**
 * Reads Server-Sent Events from a response body. Chunks may end anywhere, also inside a character or a line ending.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} [onActivity] called for each chunk, comments (`: ping`) included
 * @returns {AsyncGenerator<{event: string, data: string}>}
 */
async function* readEvents(body, onActivity = () => {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  let event = "message";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      onActivity();
      pending += decoder.decode(value, { stream: !done });
      // A carriage return at the very end may be half of "\r\n": it waits for the next chunk.
      const lines = pending.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      pending = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { event, data: data.join("\n") };
          event = "message";
          data = [];
        } else if (!line.startsWith(":")) {
          const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
          if (field === "event") event = text;
          else if (field === "data") data.push(text);
        }
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {}); // the stream failed or was aborted: its reader has already said so
  }
}
