import { html } from "hono/html";
import { type Account, type AccountFailure, explainAccountError } from "../../accounts/account.ts";
import { viewAccount } from "../../accounts/account-view.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../accounts/accounts.ts";
import type { Environment } from "../../accounts/api-key.ts";
import { invalidInput } from "../../core/errors.ts";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { isDateTime } from "../../orders/order.ts";
import type { PlanTable } from "../../plans/plan-limits.ts";
import { type FormResult, submit } from "../form.ts";
import { type ConsoleApp, type ConsoleDependencies, type Html, type Notice, pathOf } from "../page.ts";
import { describeRejections, describeRotation, readPlanFields, sendAccountPage } from "./account-page.ts";
import { parseList, sendAccountsPage } from "./accounts-page.ts";

export function addAccountPages(app: ConsoleApp, dependencies: ConsoleDependencies): void {
  const { store, environment, clock, plans } = dependencies;
  const accounts = createAccounts({ store: store.accounts, clock, plans });

  /** The operations that issue keys. A form asks for the environment of the first one. */
  const accountsForKeys = (fields: FormResult["values"]): Accounts<string> => {
    const wanted = environment ?? ((fields["environment"] || undefined) as Environment | undefined);
    return createAccounts({ store: store.accounts, environment: wanted, clock, plans });
  };

  app.get("/accounts", (c) => sendAccountsPage(c, dependencies, parseList(new URL(c.req.url).search)));
  app.get("/accounts/:id", (c) => sendAccountPage(c, dependencies, c.req.param("id")));

  app.post("/accounts", async (c) => {
    const view = c.get("view");
    const { fields } = view;
    const id = (fields["accountId"] ?? "").trim();
    const create = async (): Promise<Notice> => {
      const created = await accounts.create(id, readPlanFields(fields, plans));
      if (!created.ok) throw invalidInput("accountId", explainAccountError(created));
      return { kind: "success", message: "" };
    };
    const result = await submit("create", view, create);
    const query = new URLSearchParams({ ...(fields["list"] && { from: fields["list"] }), created: "" });
    if (result.notice.kind === "success") return c.redirect(`${pathOf(view, "accounts", id)}?${query}`, 303);
    return sendAccountsPage(c, dependencies, parseList(fields["list"]), result);
  });

  /** Adds a change of an account, which shows the page of the account with its outcome, or the list if it is deleted. */
  function addChange(
    path: string,
    form: string,
    change: (id: string, fields: FormResult["values"], key: string) => Promise<Notice>,
  ): void {
    app.post(`/accounts/:id/${path}`, async (c) => {
      const { id, key = "" } = c.req.param() as { id: string; key?: string };
      // Otherwise the page of one account would change a key of another.
      if (key !== "" && !key.startsWith(`${id}.`)) return c.notFound();
      const view = c.get("view");
      const name = key === "" ? form : `${form}-${key}`;
      const result = await submit(name, view, () => change(id, view.fields, key));
      if (path !== "delete" || result.notice.kind === "failure")
        return sendAccountPage(c, dependencies, id, result);
      const query = new URLSearchParams(view.from);
      query.set("deleted", id);
      return c.redirect(`${pathOf(view, "accounts")}?${query}`, 303);
    });
  }
  addChange("plan", "plan", async (id, fields) => {
    const result = await accounts.setPlan(id, readPlanFields(fields, plans));
    return noticeOf(result, `The plan is now ${fields["plan"]}.`);
  });
  addChange("delete", "delete", async (id, { accountId = "" }) => {
    if (accountId.trim() !== id) throw invalidInput("accountId", `Type ${id}. Nothing was deleted.`);
    return noticeOf(await accounts.delete(id), "");
  });
  addChange("keys", "issue", async (id, fields) => {
    const { expiresAt: day = "", name = "" } = fields;
    const start = `${day}T00:00:00Z`;
    // `Date` would take the 31st of February for a day in March.
    if (day !== "" && !isDateTime(start)) throw invalidInput("expiresAt", "Give a date, such as 2030-01-01.");
    const expiry = day === "" ? {} : { expiresAt: Date.parse(start) };
    const named = name.trim() === "" ? {} : { name: name.trim() };
    return noticeOf(await accountsForKeys(fields).issueKey(id, { ...named, ...expiry }), showKey);
  });
  addChange("keys/:key/rotate", "rotate", async (id, fields, key) => {
    const overlapMs = Number(fields["overlapMs"] || Number.NaN);
    const result = await accountsForKeys(fields).rotateKey(key, { overlapMs });
    const account = await store.accounts.find(id);
    const old = account && viewAccount(account, clock()).keys.find((each) => each.id === key);
    const rotation = old && html`<code>${key}</code> is ${describeRotation(old)}. `;
    return noticeOf(result, (issued) => html`${rotation}${showKey(issued)}`);
  });
  addChange("keys/:key/revoke", "revoke", async (_id, _fields, key) =>
    noticeOf(await accounts.revokeKey(key), html`The key <code>${key}</code> has been revoked.`),
  );
  addChange("keys/:key/unban", "unban", async (id, _fields, key) => {
    const account = await store.accounts.find(id);
    const erased = account && describeRejections(account, key, clock(), plans);
    const result = await accounts.unbanKey(key);
    const left = account === undefined ? "" : explainUsedUp(account, clock(), plans);
    const record = erased && html` What the store kept of it is erased. ${erased}`;
    return noticeOf(result, html`The ban of <code>${key}</code> has been lifted.${left}${record}`);
  });
}

/** Says which limit still rejects the requests of an account, if one does; the longer one of two. */
function explainUsedUp(account: Account, now: Instant, plans: PlanTable): string {
  const { limits, minute, day } = viewAccount(account, now, plans);
  if (limits === undefined) return "";
  const [name, { remaining, resetsAt }] =
    day.remaining === 0 ? (["day", day] as const) : (["minute", minute] as const);
  if (remaining > 0) return "";
  return ` The limit per ${name} is used up, so requests are rejected until it resets in ${formatDuration(resetsAt - now)}.`;
}

function noticeOf<R extends { readonly ok: true }>(
  result: R | AccountFailure,
  done: string | Html | ((result: R) => Html),
): Notice {
  if (!result.ok) return { kind: "failure", message: explainAccountError(result) };
  return { kind: "success", message: typeof done === "function" ? done(result) : done };
}

function showKey({ key }: IssuedKey): Html {
  return html`Store the new key now: it cannot be shown again.
    <span class="secret"><code id="issued-key">${key}</code>
    <button type="button" data-copy="issued-key">Copy key</button></span>`;
}
