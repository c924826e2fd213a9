import { html } from "hono/html";
import { invalidInput } from "../../core/errors.ts";
import { parseCustomHost } from "../../domains/hostname.ts";
import { REASONS } from "../../domains/verification/reasons.ts";
import type { HostToVerify } from "../../domains/verification/verify.ts";
import { changeForm, submit } from "../form.ts";
import { type ConsoleApp, type ConsoleDependencies, type Notice, pathOf, type View } from "../page.ts";
import type { DomainsChange } from "./domains-file.ts";
import { explainRemoval, readRole, sendDomainsPage, sendHowToStart } from "./domains-page.ts";
import { sendHostPage } from "./host-page.ts";
import type { DomainsContext } from "./hosts.ts";

/** Adds the section about domains: the hosts of the project, their records, and their verification until they are live. */
export function addDomainPages(app: ConsoleApp, { domains: context }: ConsoleDependencies): void {
  if (context === undefined) {
    app.get("/domains", sendHowToStart);
    return;
  }
  const { file, progress } = context;
  app.get("/domains", (c) => sendDomainsPage(c, context));
  app.get("/domains/:host", (c) => sendHostPage(c, context, c.req.param("host")));
  app.post("/domains/:host/verify", async (c) => {
    const [view, name] = [c.get("view"), c.req.param("host")];
    const host = await findHost(context, name);
    if (host === undefined) return sendHostPage(c, context, name);
    const verify = async (): Promise<Notice> => {
      await progress.verify(host, { reverify: view.fields["again"] !== undefined });
      return { kind: "success", message: "DNS was looked up; the result is below." };
    };
    return sendHostPage(c, context, name, await submit("verify", view, verify));
  });

  app.post("/domains", async (c) => {
    const view = c.get("view");
    const text = (view.fields["host"] ?? "").trim();
    // Only a valid name becomes part of an address.
    const named = parseCustomHost(text);
    const host = named.ok ? named.hostname : text;
    const addition = { kind: "add", host, role: readRole(view.fields["role"]) } as const;
    const add = async () => noticeOf(await file.change(view.fields["version"] ?? "", addition), "host", "");
    const result = await submit("add", view, add);
    if (result.notice.kind === "failure") return sendDomainsPage(c, context, result);
    return c.redirect(`${pathOf(view, "domains", host)}?added`, 303);
  });
  app.post("/domains/:host/role", async (c) => {
    const [view, host] = [c.get("view"), c.req.param("host")];
    const role = readRole(view.fields["role"]);
    const setRole = async () => {
      const isAsked = role !== "primary" || view.fields["confirmed"] === host;
      const problem = isAsked ? undefined : await findProblem(context, host);
      if (problem !== undefined) return unverifiedNotice(view, host, problem);
      const result = await file.change(view.fields["version"] ?? "", { kind: "set_role", host, role });
      const title = { primary: "the primary", alias: "an alias", redirect: "a redirect" }[role];
      return noticeOf(result, "role", `${host} is now ${title}.`);
    };
    return sendHostPage(c, context, host, await submit("role", view, setRole));
  });
  app.post("/domains/:host/remove", async (c) => {
    const [view, host] = [c.get("view"), c.req.param("host")];
    const removal = { kind: "remove", host } as const;
    const remove = async () =>
      noticeOf(await file.change(view.fields["version"] ?? "", removal), "host", explainRemoval(host));
    const result = await submit("remove", view, remove);
    if (view.fields["list"] !== undefined) return sendDomainsPage(c, context, result);
    if (result.notice.kind === "failure") return sendHostPage(c, context, host, result);
    return c.redirect(`${pathOf(view, "domains")}?${new URLSearchParams({ removed: host })}`, 303);
  });
}

async function findHost({ file }: DomainsContext, name: string): Promise<HostToVerify | undefined> {
  const snapshot = await file.read();
  return snapshot.ok ? snapshot.hosts.find(({ host }) => host === name) : undefined;
}

/** Verifies a host that is to become the primary. Returns the first reason why it is not verified. */
async function findProblem(context: DomainsContext, name: string): Promise<string | undefined> {
  const host = await findHost(context, name);
  if (host === undefined) return undefined;
  if (host.target === undefined) return "the console does not know the target of its record.";
  await context.progress.verify(host, { reverify: false });
  const [reason] = context.progress.of(name)?.verification.reasons ?? [];
  return reason && REASONS[reason.code].title;
}

/** Asks whether a host that is not verified is to become the primary. */
function unverifiedNotice(view: View, host: string, problem: string): Notice {
  const message = `${host} is not verified: ${problem} As the primary, it gets the visitors of every redirect.`;
  const fields = html`<input type="hidden" name="version" value="${view.fields["version"] ?? ""}">
    <input type="hidden" name="role" value="primary"><input type="hidden" name="confirmed" value="${host}">
    <button class="danger">Make it the primary anyway</button>`;
  return { kind: "failure", message, form: changeForm(view, pathOf(view, "domains", host, "role"), fields) };
}

/** The outcome of a change. An invalid input is shown at its field, everything else above the page. */
function noticeOf(result: DomainsChange, field: string, message: string): Notice {
  if (result.ok) return { kind: "success", message };
  if (result.code !== "invalid_domains") return { kind: "failure", message: result.message };
  throw invalidInput(field, [...new Set(result.issues.map((issue) => issue.message))].join(" "));
}
