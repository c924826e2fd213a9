// Asks every 1.5 seconds for the page that is shown, so that changes by others appear within two, and merges it into that
// one: focus, selection, open dialogs and half-filled forms stay.

/**
 * Merges nodes into others in place: https://github.com/bigskysoftware/idiomorph
 * @type {{ morph(old: Element, next: Element, options: object): void }}
 */
const Idiomorph = Reflect.get(globalThis, "Idiomorph");

const POLL_MS = 1500;
const TIMEOUT_MS = 20_000;
/** The time after which a change without an answer counts as unknown. */
const ANSWER_MS = 10_000;
const STOPPED =
  "The console has stopped, or this computer was asleep. If this text stays, start the console again.";
const UNKNOWN = "Look at what it was to change before you try again.";
let etag = "";
let polling = false;
let changes = 0;
/** True while a button of the pointer is down: the element under it must not change until it is up again. */
let isPressed = false;

/**
 * The forms that were sent, the one without an answer first.
 * @type {{ form: HTMLFormElement, action: string, body: URLSearchParams }[]}
 */
const queue = [];

/** Joins the session with the token of the link. @param {HTMLElement} entry */
async function enter({ dataset: { action = "", next = "" } }) {
  const token = location.hash.slice(1);
  // Neither the address bar nor the history keeps the link.
  history.replaceState(null, "", location.pathname);
  const response = await fetch(action, { method: "POST", body: new URLSearchParams({ token }) });
  if (response.ok) location.replace(next);
  else Idiomorph.morph(document.body, parse(await response.text()).body, { morphStyle: "outerHTML" });
}

/** @param {string} text */
const parse = (text) => new DOMParser().parseFromString(text, "text/html");

/**
 * Merges a page into the one that is shown. Half-filled forms stay, and so does the place of the row that is pointed at.
 * A change by others also leaves alone the form with the focus, the last result, and that row. An open dialog is never
 * removed: what it asks may have become impossible, but its answer says so.
 * @param {Document} page
 * @param {boolean} byOthers
 */
function show(page, byOthers) {
  const row = document.querySelector("tbody tr:hover") ?? document.activeElement?.closest("tbody tr") ?? null;
  const dialog = document.querySelector("dialog[open]");
  // If the row goes, the next one takes its place.
  const anchors = [row, row?.parentElement].flatMap((node) =>
    node == null ? [] : [{ node, top: node.getBoundingClientRect().top }],
  );
  /** @param {Node} node */
  const isKept = (node) => {
    if (!(node instanceof HTMLElement)) return false;
    if (node.id === "result") return byOthers;
    if (!(node instanceof HTMLFormElement)) return false;
    return node.dataset["edited"] === "true" || (byOthers && node.contains(document.activeElement));
  };
  Idiomorph.morph(document.body, page.body, {
    morphStyle: "outerHTML",
    callbacks: {
      /** @param {Node} node */
      beforeNodeMorphed: (node) => !isKept(node),
      /** @param {Node} node */
      beforeNodeRemoved: (node) => {
        const isUsed = node.contains(dialog) || (byOthers && node === row);
        if (isUsed) etag = "";
        return !isKept(node) && !isUsed;
      },
      /** @param {string} name */
      beforeAttributeUpdated: (name) => name !== "aria-busy" && name !== "open",
    },
  });
  document.title = page.title;
  const anchor = anchors.find(({ node }) => node.isConnected);
  if (anchor !== undefined) scrollBy(0, anchor.node.getBoundingClientRect().top - anchor.top);
}

/**
 * Shows the page that answers a form, and leaves the focus where it was. If what had the focus is gone, it moves to the
 * like button at its place in the table, otherwise to the result.
 * @param {Document} page
 */
function showAnswer(page) {
  const focused = document.activeElement;
  const row = focused?.closest("tbody tr");
  const index = row == null ? -1 : [...(row.parentElement?.children ?? [])].indexOf(row);
  show(page, false);
  /** @type {HTMLElement | null} */
  const invalid = document.querySelector("[aria-invalid=true]");
  if (invalid !== null) return invalid.focus();
  const isThere = document.activeElement !== document.body && document.activeElement === focused;
  if (isThere && focused?.checkVisibility()) return;
  const [kind] = focused?.getAttribute("data-opens")?.split("-") ?? [];
  const control = kind === undefined ? "form button" : `button[data-opens^=${kind}-]`;
  /** @type {HTMLElement | null} */
  const next = document.querySelector(`tbody tr:nth-child(${index + 1}) ${control}`);
  (next ?? document.getElementById("result"))?.focus({ preventScroll: true });
}

/** Shows a problem above the page, or none. @param {string} message */
function report(message) {
  const problem = document.getElementById("problem");
  if (problem === null) return;
  problem.hidden = message === "";
  if (problem.textContent !== message) problem.textContent = message;
}

/**
 * Shows that a form was not answered as expected. It stays until it is dismissed, or the next result replaces it.
 * @param {string} title
 * @param {(string | Node)[]} message
 */
function showFailure(title, ...message) {
  const template = /** @type {HTMLTemplateElement | null} */ (document.getElementById("failure"));
  const notice = template?.content.cloneNode(true);
  if (!(notice instanceof DocumentFragment)) return;
  const [text, strong] = notice.querySelectorAll("p, strong");
  strong?.append(title);
  text?.append(...message);
  document.getElementById("result")?.replaceChildren(notice);
}

/**
 * Repeats a failure of no field in the dialog of its form, which covers the result, until the form is sent again.
 * @param {HTMLFormElement} form
 */
function repeatFailure(form) {
  form.querySelector("[role=alert]")?.remove();
  const failure = document.querySelector("#result .failure > p")?.cloneNode(true);
  const isHidden =
    form.closest("dialog[open]") !== null && form.querySelector("[aria-invalid=true]") === null;
  if (failure === undefined || !isHidden) return;
  const alert = document.createElement("p");
  alert.className = "error";
  alert.role = "alert";
  alert.append(...failure.childNodes);
  form.querySelector(".actions")?.before(alert);
  form.dataset["edited"] = "true";
  alert.scrollIntoView({ block: "nearest" });
}

/** The problem that a page states instead of its content. @param {Document} page */
const problemOf = (page) => page.querySelector("[data-problem]")?.textContent;

async function poll() {
  if (document.hidden || queue.length > 0 || polling || !("live" in document.body.dataset)) return;
  polling = true;
  const address = location.href;
  const seen = changes;
  // A response to a request from before a change of this page is out of date.
  const isLate = () => seen !== changes || address !== location.href || isPressed;
  try {
    const response = await fetch(address, {
      headers: etag === "" ? {} : { "if-none-match": etag },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (isLate()) return;
    if (response.status === 304) return report("");
    const page = parse(await response.text());
    if (isLate()) return;
    const problem = problemOf(page);
    if (problem !== undefined) return report(problem);
    if (response.status === 401) return location.reload();
    etag = response.headers.get("etag") ?? "";
    show(page, true);
    report("");
  } catch {
    report(STOPPED);
  } finally {
    polling = false;
  }
}

async function sendAll() {
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    changes++;
    await send(next);
    repeatFailure(next.form);
    next.form.ariaBusy = null;
    queue.shift();
  }
}

/**
 * Sends a form, and shows the page that answers it. A form keeps its fields unless it was successful.
 * @param {typeof queue[number]} sent
 */
async function send({ form, action, body }) {
  try {
    const response = await fetch(action, { method: "POST", body, signal: AbortSignal.timeout(ANSWER_MS) });
    if (response.redirected) return location.assign(response.url);
    const page = parse(await response.text());
    const problem = problemOf(page);
    while (isPressed) await new Promise((resolve) => setTimeout(resolve, 20));
    if (problem !== undefined) return showFailure("Outcome unknown.", `${problem} ${UNKNOWN}`);
    // Not a page of a section: what it says is shown above this one.
    if (page.getElementById("result") === null)
      return showFailure(
        `${page.querySelector("h1")?.textContent}.`,
        ...[...page.querySelectorAll("main > p")].flatMap((node) => [...node.childNodes, " "]),
      );
    delete form.dataset["edited"];
    if (response.ok) {
      form.closest("dialog")?.close();
      form.reset();
    }
    etag = "";
    showAnswer(page);
    if (!response.ok) form.dataset["edited"] = "true";
    report("");
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const reason = isLate ? `There was no answer in ${ANSWER_MS / 1000} seconds.` : "There was no answer.";
    showFailure("Outcome unknown.", `${reason} ${UNKNOWN}`);
  }
}

/** Marks the key that the address names, and takes from it what makes the page show a message: that is shown once. */
function readAddress() {
  const key = new URLSearchParams(location.search).get("key");
  if (key !== null) location.replace(`#key-${key}`);
  const address = new URL(location.href);
  const shownOnce = ["added", "key", "created", "deleted", "removed"].filter((name) =>
    address.searchParams.has(name),
  );
  for (const name of shownOnce) address.searchParams.delete(name);
  if (shownOnce.length > 0) history.replaceState(null, "", address);
}

/** Copies the text of the element that a button names. @param {HTMLElement} button */
async function copy(button) {
  const label = button.textContent;
  const source = document.getElementById(button.dataset["copy"] ?? "");
  try {
    await navigator.clipboard.writeText(source?.textContent.trim() ?? "");
    button.textContent = "Copied";
  } catch {
    // The browser refuses: the text is selected instead.
    if (source !== null) getSelection()?.selectAllChildren(source);
    button.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
  event.preventDefault();
  // It has been sent, or waits for its turn.
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  const fields = /** @type {[string, string][]} */ ([...new FormData(form, event.submitter)]);
  const isFirst = queue.push({ form, action: form.action, body: new URLSearchParams(fields) }) === 1;
  if (isFirst) sendAll();
});
document.addEventListener("input", ({ target }) => {
  const isField = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
  if (isField && target.form !== null) target.form.dataset["edited"] = "true";
});
document.addEventListener("pointerdown", () => {
  isPressed = true;
});
// The click follows.
for (const name of ["pointerup", "pointercancel", "blur", "contextmenu"])
  window.addEventListener(name, () => setTimeout(() => (isPressed = false)));
document.addEventListener("keydown", (event) => {
  // A key that is held down would make the change again and again.
  const isButton =
    event.target instanceof Element && event.target.closest("form[method=post] button") !== null;
  if (event.repeat && isButton) event.preventDefault();
});
document.addEventListener("click", (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  /** @param {string} selector */
  const closest = (selector) => /** @type {HTMLElement | null} */ (target.closest(selector));
  // The second click of a double click would make the change again.
  if (event.detail > 1 && closest("form[method=post] button") !== null) event.preventDefault();
  const copier = closest("[data-copy]");
  if (copier !== null) copy(copier);
  if (closest("[data-dismiss]") !== null) document.getElementById("result")?.replaceChildren();
  const opened = document.getElementById(closest("[data-opens]")?.dataset["opens"] ?? "");
  if (opened instanceof HTMLDialogElement) {
    opened.showModal();
    // Not its first field, before whose label the title is to be read.
    opened.focus();
  }
  if (closest("[data-close]") !== null) target.closest("dialog")?.close();
});

readAddress();
const entry = document.getElementById("entry");
if (entry !== null) enter(entry);
setInterval(poll, POLL_MS);
document.addEventListener("visibilitychange", poll);
