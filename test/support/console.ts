import { onTestFinished } from "vitest";
import { type ConsoleOptions, startConsole } from "../../lib/console/server.ts";
import { systemClock } from "../../lib/core/time.ts";
import { PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

/** Starts a console for one test, by default over an empty store in memory. `lines` are what it wrote for the operator. */
export async function useConsole(options: Partial<ConsoleOptions> = {}) {
  const lines: string[] = [];
  const settings: ConsoleOptions = {
    ...{ store: createMemoryStore(), storeName: "test.db", isMetered: false, environment: "test" },
    ...{ clock: systemClock, plans: PLAN_LIMITS, port: 0, explain: (error: unknown) => error },
    log: (line) => lines.push(line),
    ...options,
  };
  const running = await startConsole(settings);
  onTestFinished(running.close);
  const { origin, pathname, hash } = new URL(running.link);
  const at = (path: string) => `${origin}${pathname.replace(/\/start$/, "")}/${path}`;
  const { store, clock } = settings;
  return { ...running, lines, origin, token: hash.slice(1), at, store, clock };
}

export type ConsoleFixture = Awaited<ReturnType<typeof useConsole>>;

/** A browser's way to send a change: every header that it adds itself. */
export function postHeaders({ origin }: ConsoleFixture): Record<string, string> {
  return { origin, "sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded" };
}

/** Uses the link as a browser does, and returns the cookie. */
export async function signIn(fixture: ConsoleFixture): Promise<string> {
  const response = await fetch(fixture.at("session"), {
    method: "POST",
    headers: postHeaders(fixture),
    body: new URLSearchParams({ token: fixture.token }),
  });
  const [cookie = ""] = response.headers.getSetCookie();
  return cookie.split(";")[0] ?? "";
}

/** Returns the session's token, which every form on a page has. */
export async function formToken(fixture: ConsoleFixture, cookie: string): Promise<string> {
  const page = await (await fetch(fixture.at("accounts"), { headers: { cookie } })).text();
  return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
}

/** A console, and the session of a browser that has opened its link. */
export async function useSession(options: Partial<ConsoleOptions> = {}) {
  const console = await useConsole(options);
  const cookie = await signIn(console);
  const token = await formToken(console, cookie);
  const get = (path: string) => fetch(new URL(path, console.at("")), { headers: { cookie } });
  const post = (path: string, fields: Readonly<Record<string, string>> = {}) =>
    fetch(console.at(path), {
      method: "POST",
      headers: { ...postHeaders(console), cookie },
      body: new URLSearchParams({ token, ...fields }),
    });
  const textOf = async (path: string) => (await get(path)).text();
  return { ...console, cookie, token, get, post, textOf };
}

/** A page with a table: the identifiers of its rows, and its links, such as "Next page", by their texts. */
export async function readTable(response: Response) {
  const text = await response.text();
  const links = [...text.matchAll(/<a class="button" href="([^"]+)"[^>]*>([^<]+)<\/a>/g)];
  const addresses = links.map(([, href = "", label = ""]) => [label, href.replaceAll("&amp;", "&")]);
  return {
    status: response.status,
    text,
    rows: [...text.matchAll(/<tr id="(?:order|account)-([^"]+)"/g)].map(([, id]) => id),
    links: Object.fromEntries(addresses) as Readonly<Record<string, string>>,
  };
}

type TablePage = Awaited<ReturnType<typeof readTable>>;

/** The page, and those to which its links lead, one after another. */
export async function follow(
  get: (path: string) => Promise<Response>,
  from: TablePage,
  ...labels: readonly string[]
): Promise<readonly TablePage[]> {
  const label = labels.find((each) => each in from.links);
  if (label === undefined) return [from];
  return [from, ...(await follow(get, await readTable(await get(from.links[label] ?? "")), ...labels))];
}
