import { html } from "hono/html";
import type { Clock } from "../../core/time.ts";
import { parseCustomHost } from "../../domains/hostname.ts";
import type { HostRole } from "../../domains/mapping.ts";
import { REASONS } from "../../domains/verification/reasons.ts";
import { changeForm, type FormResult } from "../form.ts";
import {
  type ConsoleApp,
  type ConsoleDependencies,
  type Notice,
  pathOf,
  type Section,
  type View,
} from "../page.ts";
import { type DomainsChange, openDomainsFile } from "./domains-file.ts";
import { sendDomainsPage, sendHowToStart } from "./domains-page.ts";
import { sendHostPage } from "./host-page.ts";
import { type DomainsContext, type DomainsOptions, type HostSource, openStack } from "./host-source.ts";
import { createProgress } from "./progress.ts";

/** The section about domains: the hosts of the project, their records, and their verification until they are live. */
export const domainsSection: Section = { path: "domains", title: "Domains", add: addDomainPages };

function addDomainPages(app: ConsoleApp, { domains: context }: ConsoleDependencies): void {
  if (context === undefined) {
    app.get("/domains", sendHowToStart);
    return;
  }
  app.get("/domains", (c) => sendDomainsPage(c, context));
  app.get("/domains/:host", (c) => sendHostPage(c, context, c.req.param("host")));
  for (const action of ["verify", "reverify"] as const) {
    app.post(`/domains/:host/${action}`, async (c) => {
      const name = c.req.param("host") ?? "";
      const snapshot = await context.source.read();
      const host = snapshot.ok ? snapshot.hosts.find((each) => each.host === name) : undefined;
      if (host === undefined) return sendHostPage(c, context, name);
      await context.progress.verify(host, { reverify: action === "reverify" });
      return sendHostPage(c, context, name, done(action, "DNS was looked up; the result is below."));
    });
  }
  const { change } = context.source;
  if (change === undefined) addStackForm(app, context);
  else addChanges(app, context, change);
}

/** Adds the form that shows the lines of an addition. Only a valid name becomes part of an address. */
function addStackForm(app: ConsoleApp, context: DomainsContext): void {
  app.post("/domains", async (c) => {
    const { fields } = c.get("view");
    const { host = "", role = "" } = fields;
    const named = parseCustomHost(host.trim());
    if (named.ok) {
      const query = new URLSearchParams({ host: named.hostname, role: readRole(role) });
      return c.redirect(`${pathOf(c.get("view"), "domains")}?${query}`, 303);
    }
    const { message } = named;
    const notice = { kind: "failure", message } as const;
    return sendDomainsPage(c, context, { form: "stack", notice, errors: { host: message }, values: fields });
  });
}

/** Opens the domains. Nothing is looked up yet. */
export function openDomains(options: DomainsOptions, clock: Clock): DomainsContext {
  const { source: opened, zones } = options;
  const source: HostSource = opened.kind === "file" ? openDomainsFile(opened) : openStack(opened);
  let knownZones: readonly string[] = [];
  const progress = createProgress(options, clock, () => knownZones);
  async function read() {
    const snapshot = await source.read();
    if (!snapshot.ok) return snapshot;
    knownZones = snapshot.knownZones;
    // A host that is added again starts anew.
    progress.keep(snapshot.hosts.map(({ host }) => host));
    const hosts = snapshot.hosts.map((host) => {
      const zone = zones?.get(host.host);
      return zone === undefined ? host : { ...host, zone };
    });
    return { ...snapshot, hosts };
  }
  return { source: { ...source, read }, progress, clock };
}

function addChanges(app: ConsoleApp, context: DomainsContext, change: Required<HostSource>["change"]): void {
  app.post("/domains", async (c) => {
    const { fields } = c.get("view");
    const host = (fields["host"] ?? "").trim();
    const addition = { kind: "add", host, role: readRole(fields["role"]) } as const;
    const result = await change(fields["version"] ?? "", addition);
    if (!result.ok) return sendDomainsPage(c, context, failureOf("add", "host", result, fields));
    const named = parseCustomHost(host);
    return c.redirect(`${pathOf(c.get("view"), "domains", named.ok ? named.hostname : host)}?added`, 303);
  });
  app.post("/domains/:host/role", async (c) => {
    const { fields } = c.get("view");
    const host = c.req.param("host");
    const role = readRole(fields["role"]);
    const problem =
      role === "primary" && fields["confirmed"] !== host ? await findProblem(context, host) : undefined;
    if (problem !== undefined) {
      const notice = unverifiedNotice(c.get("view"), host, problem);
      return sendHostPage(c, context, host, { form: "role", notice, errors: {}, values: fields });
    }
    const result = await change(fields["version"] ?? "", { kind: "set_role", host, role });
    if (!result.ok) return sendHostPage(c, context, host, failureOf("role", "role", result, fields));
    const title = role === "primary" ? "the primary" : role === "alias" ? "an alias" : "a redirect";
    return sendHostPage(c, context, host, done("role", `${host} is now ${title}.`));
  });
  app.post("/domains/:host/remove", async (c) => {
    const host = c.req.param("host");
    const { version = "" } = c.get("view").fields;
    const result = await change(version, { kind: "remove", host });
    if (!result.ok) return sendHostPage(c, context, host, failureOf("remove", "host", result, {}));
    return c.redirect(`${pathOf(c.get("view"), "domains")}?removed=${encodeURIComponent(host)}`, 303);
  });
}

/** Verifies a host that is to become the primary. Returns the first reason why it is not verified. */
async function findProblem({ source, progress }: DomainsContext, name: string): Promise<string | undefined> {
  const snapshot = await source.read();
  const host = snapshot.ok ? snapshot.hosts.find((each) => each.host === name) : undefined;
  if (host === undefined) return undefined;
  if (host.target === undefined) return "the console does not know the target of its record.";
  await progress.verify(host, { reverify: false });
  const [reason] = progress.of(name)?.verification.reasons ?? [];
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

type Fields = Readonly<Record<string, string>>;

function readRole(text: string | undefined): HostRole {
  return text === "primary" || text === "redirect" ? text : "alias";
}

/** An invalid input is shown at the field, everything else above the page. */
function failureOf(
  form: string,
  field: string,
  result: Extract<DomainsChange, { ok: false }>,
  values: Fields,
): FormResult {
  if (result.code !== "invalid_domains") {
    return { form, notice: { kind: "failure", message: result.message }, errors: {}, values };
  }
  const message = [...new Set(result.issues.map((issue) => issue.message))].join(" ");
  return { form, notice: { kind: "failure", message }, errors: { [field]: message }, values };
}

function done(form: string, message: string): FormResult {
  return { form, notice: { kind: "success", message }, errors: {}, values: {} };
}
