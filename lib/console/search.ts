import { html } from "hono/html";
import { isAccountId, redactKeys } from "../accounts/api-key.ts";
import { type FoundKey, findKeys } from "../accounts/hash-key.ts";
import { parseHostname } from "../domains/hostname.ts";
import { parseInt64 } from "../orders/int64.ts";
import { findOrder } from "./orders/order-page.ts";
import {
  type ConsoleApp,
  type ConsoleDependencies,
  type Html,
  pathOf,
  plainPage,
  type View,
} from "./page.ts";

/** What is sought can be a key, so it is in the body of a request only, and never in an address. */
export function addSearch(app: ConsoleApp, { store, domains }: ConsoleDependencies): void {
  app.post("/search", async (c) => {
    const view = c.get("view");
    const text = (view.fields["text"] ?? "").trim();
    if (text === "") return c.html(plainPage("Nothing to look for", NOTHING), 404);
    const [key, another] = await findKeys(text, store.accounts.importedKeys);
    if (another !== undefined) return c.html(plainPage("Several keys", SEVERAL_KEYS), 404);
    const found =
      (await findByKey(view, text, key)) ?? (await findById(view, text)) ?? (await findDomain(view, text));
    if (found !== undefined) return c.redirect(found, 303);
    return c.html(plainPage("Not found", html`<p>${await explainMiss(view, text, key)}</p>`), 404);
  });

  async function findByKey(view: View, text: string, key?: FoundKey): Promise<string | undefined> {
    const named = { keyId: text, accountId: text.slice(0, Math.max(0, text.lastIndexOf("."))) };
    const { keyId, accountId } = key ?? named;
    const account = isAccountId(accountId) ? await store.accounts.find(accountId) : undefined;
    if (!account?.keys.some(({ id }) => id === keyId)) return undefined;
    return `${pathOf(view, "accounts", account.id)}?${new URLSearchParams({ key: keyId })}`;
  }

  async function findById(view: View, text: string): Promise<string | undefined> {
    const id = orderIdOf(text);
    if (id !== undefined && (await findOrder(store.orders, id)) !== undefined)
      return pathOf(view, "orders", `${id}`);
    const accountId = text.toLowerCase();
    const isAccount = isAccountId(accountId) && (await store.accounts.find(accountId)) !== undefined;
    return isAccount ? pathOf(view, "accounts", accountId) : undefined;
  }

  async function findDomain(view: View, text: string): Promise<string | undefined> {
    const name = parseHostname(text);
    const snapshot = await domains?.file.read();
    if (!name.ok || !snapshot?.ok) return undefined;
    const isDomain = snapshot.hosts.some(({ host }) => host === name.hostname);
    return isDomain ? pathOf(view, "domains", name.hostname) : undefined;
  }

  async function explainMiss(view: View, text: string, key?: FoundKey): Promise<Html> {
    if (key !== undefined)
      return html`There is no such key of ${key.accountId}. It may have been deleted, or be one of another service.`;
    const shown = html`<code>${redactKeys(text).slice(0, 100)}</code>`;
    if (redactKeys(text) !== text) return html`${shown} is not one whole key.`;
    if (orderIdOf(text) !== undefined) return html`There is neither an order nor an account ${shown}.`;
    const start = text.toLowerCase();
    if (!isAccountId(start))
      return html`${shown} is neither the ID of an order, such as 1001, nor of an account, such as acme, nor a key, nor a
        domain. ${NOT_BY_NAME}`;
    return html`There is no account ${shown}.${await linksToBeginning(view, start)} ${NOT_BY_NAME}`;
  }

  /** The first accounts whose ID begins with a string. Stores find nothing within an ID. */
  async function linksToBeginning(view: View, start: string): Promise<Html> {
    const ids: string[] = [];
    for await (const { id } of store.accounts.list(start, MAX_LIKE + 1))
      if (id.startsWith(start)) ids.push(id);
    if (ids.length === 0) return html` None begins with it; only the beginnings of account IDs are searched.`;
    const shown = ids.slice(0, MAX_LIKE);
    const links = shown.map((id) => html` <a href="${pathOf(view, "accounts", id)}">${id}</a>`);
    return html` These begin with it:${links}${ids.length > MAX_LIKE ? " and more" : ""}.
      Only the beginnings of account IDs are searched.`;
  }
}

const MAX_LIKE = 5;

const NOTHING = html`<p>Type the ID of an order or an account, a key, or the name of a domain.</p>`;
const SEVERAL_KEYS = html`<p>The text has several keys. Search for one of them.</p>`;

/** The ID of an order, also as people write it: `#1001`, `order 1001`, `1,001`. */
function orderIdOf(text: string): bigint | undefined {
  const [, id = ""] = /^(?:order\s+)?#?(-?(?:\d+|\d{1,3}(?:,\d{3})+))$/i.exec(text) ?? [];
  return parseInt64(id.replaceAll(",", ""));
}

/** No store has an index of the names: all accounts would be read. */
const NOT_BY_NAME = "A key is found by itself or by its ID, not by its name.";
