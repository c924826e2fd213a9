import { parseCustomHost } from "../../domains/custom-host.ts";
import type { HostRole } from "../../domains/mapping.ts";
import type { Outcome } from "../form.ts";
import { type ConsoleApp, type ConsoleContext, pathOf, type Section } from "../section.ts";
import type { DomainsChange } from "./domains-file.ts";
import { sendDomainsPage, sendHowToStart } from "./domains-page.ts";
import { type DomainsWork, openDomains } from "./domains-work.ts";
import type { DomainChange } from "./edit-document.ts";
import { sendHostPage } from "./host-page.ts";

/** Domains: which hosts serve the project, their records, their verification and their progress to live. */
export const domainsSection: Section = { path: "domains", title: "Domains", add: addDomainPages };

function addDomainPages(app: ConsoleApp, { domains, clock }: ConsoleContext): void {
  if (domains === undefined) {
    app.get("/domains", sendHowToStart);
    return;
  }
  const work = openDomains(domains, clock);
  app.get("/domains", (c) => sendDomainsPage(c, work));
  app.get("/domains/:host", (c) => sendHostPage(c, work, c.req.param("host")));
  for (const action of ["verify", "reverify"] as const) {
    app.post(`/domains/:host/${action}`, async (c) => {
      const name = c.req.param("host") ?? "";
      const snapshot = await work.hosts.read();
      const host = snapshot.ok ? snapshot.hosts.find((each) => each.host === name) : undefined;
      if (host === undefined) return sendHostPage(c, work, name);
      await work.progress.verify(host, { reverify: action === "reverify" });
      return sendHostPage(c, work, name, done(action, "DNS was looked up; the result is below."));
    });
  }
  if (work.hosts.file !== undefined) addChanges(app, work);
}

function addChanges(app: ConsoleApp, work: DomainsWork): void {
  app.post("/domains", async (c) => {
    const { fields } = c.get("view");
    const host = (fields["host"] ?? "").trim();
    const result = await change(work, fields, { kind: "add", host, role: readRole(fields["role"]) });
    if (!result.ok) return sendDomainsPage(c, work, failureOf("add", "host", result, fields));
    const named = parseCustomHost(host);
    return c.redirect(`${pathOf(c.get("view"), "domains", named.ok ? named.hostname : host)}?added`, 303);
  });
  app.post("/domains/:host/role", async (c) => {
    const { fields } = c.get("view");
    const host = c.req.param("host");
    const role = readRole(fields["role"]);
    const result = await change(work, fields, { kind: "set_role", host, role });
    if (!result.ok) return sendHostPage(c, work, host, failureOf("role", "role", result, fields));
    const title = role === "primary" ? "the primary" : role === "alias" ? "an alias" : "a redirect";
    return sendHostPage(c, work, host, done("role", `${host} is now ${title}.`));
  });
  app.post("/domains/:host/remove", async (c) => {
    const host = c.req.param("host");
    const result = await change(work, c.get("view").fields, { kind: "remove", host });
    if (!result.ok) return sendHostPage(c, work, host, failureOf("remove", "host", result, {}));
    return c.redirect(`${pathOf(c.get("view"), "domains")}?removed=${encodeURIComponent(host)}`, 303);
  });
}

type Fields = Readonly<Record<string, string>>;

/** Makes a change of the file that its author saw. */
async function change(
  { hosts }: DomainsWork,
  { version = "" }: Fields,
  change: DomainChange,
): Promise<DomainsChange> {
  if (hosts.file === undefined) throw new Error("The domains of a stack cannot be changed.");
  return hosts.file.change(version, change);
}

function readRole(text: string | undefined): HostRole {
  return text === "primary" || text === "redirect" ? text : "alias";
}

/** An invalid input is shown at the field, everything else above the page. */
function failureOf(
  form: string,
  field: string,
  result: Extract<DomainsChange, { ok: false }>,
  values: Fields,
): Outcome {
  if (result.code !== "invalid_domains") {
    return { form, notice: { kind: "failure", message: result.message }, errors: {}, values };
  }
  const message = [...new Set(result.issues.map((issue) => issue.message))].join(" ");
  return { form, notice: { kind: "failure", message }, errors: { [field]: message }, values };
}

function done(form: string, message: string): Outcome {
  return { form, notice: { kind: "success", message }, errors: {}, values: {} };
}
