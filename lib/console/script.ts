/**
 * The script of the page. It joins the session, sends forms, and asks every 1.5 seconds for the page that is shown, so
 * that changes by others appear within two. A new page is merged into the one that is shown: focus, selection, open
 * dialogs and half-filled forms stay.
 */
export const SCRIPT = `"use strict";
const POLL_MS = 1500;
const TIMEOUT_MS = 20000;
const STOPPED = "The console has stopped, or this computer was asleep. If this text stays, start the console again.";
let etag = "";
let sending = false;
let polling = false;
let changes = 0;

async function enter(entry) {
  const token = location.hash.slice(1);
  // Neither the address bar nor the history keeps the link.
  history.replaceState(null, "", location.pathname);
  const body = new URLSearchParams({ token });
  const response = await fetch(entry.dataset.action, { method: "POST", body });
  if (response.ok) location.replace(entry.dataset.next);
  else Idiomorph.morph(document.body, parse(await response.text()).body, { morphStyle: "outerHTML" });
}

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

/** Merges a page into the one that is shown. A change by others leaves alone what its user is working on. */
function show(page, byOthers) {
  const isBusy = (node) =>
    byOthers && (node.id === "result" || (node.nodeName === "FORM" && (node.dataset.edited === "true" || node.contains(document.activeElement))));
  Idiomorph.morph(document.body, page.body, {
    morphStyle: "outerHTML",
    callbacks: {
      beforeNodeMorphed: (node) => !isBusy(node),
      beforeNodeRemoved: (node) => !isBusy(node),
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.nodeName === "DETAILS"),
    },
  });
  document.title = page.title;
}

function report(message) {
  const problem = document.getElementById("problem");
  if (problem === null) return;
  problem.hidden = message === "";
  if (problem.textContent !== message) problem.textContent = message;
}

async function poll() {
  if (document.hidden || sending || polling || !("live" in document.body.dataset)) return;
  polling = true;
  const address = location.href;
  const seen = changes;
  // What was read before a change of this page is out of date.
  const isLate = () => sending || seen !== changes || address !== location.href;
  try {
    const headers = etag === "" ? {} : { "if-none-match": etag };
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (isLate()) return;
    if (response.status === 304) return report("");
    const page = parse(await response.text());
    if (isLate()) return;
    const problem = page.querySelector("[data-problem]");
    if (problem !== null) return report(problem.textContent);
    if (response.status === 401) return location.reload();
    etag = response.headers.get("etag") || "";
    show(page, true);
    report("");
  } catch {
    report(STOPPED);
  } finally {
    polling = false;
  }
}

async function send(form, submitter) {
  sending = true;
  changes++;
  form.ariaBusy = "true";
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const response = await fetch(form.action, { method: "POST", body });
    const page = parse(await response.text());
    const problem = page.querySelector("[data-problem]");
    if (problem !== null) return report(problem.textContent);
    if (page.getElementById("result") === null) return report(page.body.textContent.trim());
    if (response.ok) {
      delete form.dataset.edited;
      form.closest("[popover]")?.hidePopover();
      form.reset();
    }
    if (response.redirected) history.pushState(null, "", response.url);
    etag = "";
    show(page, false);
    report("");
    (document.querySelector("[aria-invalid=true]") || document.getElementById("result")).focus();
  } catch {
    report(STOPPED);
  } finally {
    sending = false;
    form.ariaBusy = null;
  }
}

async function copy(button) {
  const label = button.textContent;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 2000);
}

document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  event.preventDefault();
  if (!sending) send(event.target, event.submitter);
});
document.addEventListener("input", (event) => {
  if (event.target.form) event.target.form.dataset.edited = "true";
});
document.addEventListener("click", (event) => {
  // The second click of a double click would make the change again.
  if (event.detail > 1 && event.target.closest("form[method=post] button")) event.preventDefault();
  const copier = event.target.closest("[data-copy]");
  if (copier !== null) copy(copier);
  if (event.target.closest("[data-dismiss]") !== null) document.getElementById("result").replaceChildren();
  const closer = event.target.closest("[data-close]");
  if (closer !== null) closer.closest("[popover]").hidePopover();
});
window.addEventListener("popstate", () => location.reload());

const entry = document.getElementById("entry");
if (entry !== null) enter(entry);
setInterval(poll, POLL_MS);
document.addEventListener("visibilitychange", poll);
`;
