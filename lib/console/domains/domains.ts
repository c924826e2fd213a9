import { invalidInput } from "../../core/errors.ts";
import { parseCustomHost } from "../../domains/hostname.ts";
import type { DomainsChange } from "../../files/domains-file.ts";
import { submit } from "../form.ts";
import { type ConsoleApp, type ConsoleDependencies, type Notice, pathOf } from "../page.ts";
import { explainRemoval, sendDomainsPage } from "./domains-page.ts";
import { sendHostPage } from "./host-page.ts";

/** Adds the section about domains: the hosts of the project, their records, and their verification until they are live. */
export function addDomainPages(app: ConsoleApp, { domains: context }: ConsoleDependencies): void {
  if (context === undefined) return;
  const { file, progress } = context;
  app.get("/domains", (c) => sendDomainsPage(c, context));
  app.get("/domains/:host", (c) => sendHostPage(c, context, c.req.param("host")));
  app.post("/domains/:host/verify", async (c) => {
    const name = c.req.param("host");
    const snapshot = file.read();
    const host = snapshot.ok ? snapshot.hosts.find((each) => each.host === name) : undefined;
    if (host === undefined) return sendHostPage(c, context, name);
    await progress.verify(host);
    return sendHostPage(c, context, name);
  });
  app.post("/domains/verify", async (c) => {
    const snapshot = file.read();
    if (snapshot.ok) progress.verifyAll(snapshot.hosts);
    return sendDomainsPage(c, context);
  });

  app.post("/domains", async (c) => {
    const view = c.get("view");
    const { host: text = "", role: asked, version = "" } = view.fields;
    const named = parseCustomHost(text.trim());
    const host = named.ok ? named.hostname : text.trim();
    const role = asked === "redirect" ? "redirect" : "alias";
    const add = async () => noticeOf(await file.change(version, { kind: "add", host, role }), "");
    const result = await submit("add", view, add);
    if (result.notice.kind === "failure") return sendDomainsPage(c, context, result);
    return c.redirect(`${pathOf(view, "domains", host)}?added`, 303);
  });
  app.post("/domains/:host/remove", async (c) => {
    const [view, host] = [c.get("view"), c.req.param("host")];
    const removal = { kind: "remove", host } as const;
    const remove = async () =>
      noticeOf(await file.change(view.fields["version"] ?? "", removal), explainRemoval(host));
    const result = await submit("remove", view, remove);
    if (view.fields["list"] !== undefined) return sendDomainsPage(c, context, result);
    if (result.notice.kind === "failure") return sendHostPage(c, context, host, result);
    return c.redirect(`${pathOf(view, "domains")}?${new URLSearchParams({ removed: host })}`, 303);
  });
}

/** The outcome of a change. An invalid input is shown at its field, everything else above the page. */
function noticeOf(result: DomainsChange, message: string): Notice {
  if (result.ok) return { kind: "success", message };
  if (result.code !== "invalid_domains") return { kind: "failure", message: result.message };
  throw invalidInput("host", [...new Set(result.issues.map((issue) => issue.message))].join(" "));
}
