import { onTestFinished } from "vitest";
import { type ConsoleOptions, type RunningConsole, startConsole } from "../../lib/console/server.ts";
import type { Clock } from "../../lib/core/time.ts";
import { systemClock } from "../../lib/core/time.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

/** A console for one test, and what it wrote for the operator. */
export interface ConsoleFixture extends RunningConsole {
  readonly lines: readonly string[];
  readonly origin: string;
  readonly token: string;
  readonly clock: Clock;
  readonly store: ConsoleOptions["store"];
  /** The address of a page. */
  at(path: string): string;
}

/** Starts a console, by default over an empty store in memory. */
export async function useConsole(options: Partial<ConsoleOptions> = {}): Promise<ConsoleFixture> {
  const lines: string[] = [];
  const settings: ConsoleOptions = {
    ...{ store: createMemoryStore(), storeName: "test.db", isMetered: false, environment: "test" },
    ...{ clock: systemClock, port: 0, explain: (error: unknown) => error },
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

/** A browser's way to send a change: every header that it adds itself. */
export function postHeaders({ origin }: ConsoleFixture): Record<string, string> {
  return {
    origin,
    "sec-fetch-site": "same-origin",
    "content-type": "application/x-www-form-urlencoded",
  };
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
