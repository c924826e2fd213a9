import type { WriteStream } from "node:tty";
import { describe, expect, test } from "vitest";
import type { HostScreen, WatchStep } from "../../lib/cli/watch-screen.ts";
import { createWatchOutput, wrapLine } from "../../lib/cli/watch-screen.ts";
import { addDomain } from "../../lib/domains/lifecycle.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

function screenOf(host: string, todo: readonly string[] = []): HostScreen {
  return { host, role: "primary", domain: addDomain(host, NOON), steps: [], todo, news: "" };
}

const step = (hosts: readonly HostScreen[], settled = false): WatchStep => ({
  state: new Map(),
  hosts,
  changes: hosts,
  settled,
});

const ESCAPE = String.fromCharCode(27);

/** A terminal that keeps the rows that are visible, from what is written to it. */
function createDisplay(columns: number, rows: number) {
  let lines: string[] = [""];
  let row = 0;
  const write = (text: string, done?: () => void) => {
    for (const part of text.replaceAll(ESCAPE, "␛").split(/(␛\[\d*[A-Z]|\n)/)) {
      const up = /^␛\[(\d+)A$/.exec(part);
      if (up !== null) row = Math.max(0, row - Number(up[1]));
      else if (part === "␛[0J") lines = [...lines.slice(0, row), ""];
      else if (part === "\n") lines[++row] ??= "";
      else if (!part.startsWith("␛")) lines[row] = (lines[row] ?? "") + part;
    }
    done?.();
    return true;
  };
  return { display: { columns, rows, write } as unknown as WriteStream, text: () => lines.join("\n") };
}

const print = async () => true;

describe("the output of a watch", () => {
  test("on a terminal one screen is repainted in place, and the last one stays complete", async () => {
    const { display, text } = createDisplay(120, 24);
    const show = createWatchOutput({ display, print }, { clock: () => NOON, json: false });
    await show(step([screenOf("a.example.com", ["Add the record.", "Wait."])]));
    expect(text()).toContain(
      "… a.example.com  pending_dns for 0 s  (primary)\n    now  Add the record.\n         Wait.",
    );
    expect(text()).toContain("Ctrl-C stops the watch.");
    await show(step([screenOf("b.example.com")], true));
    expect(text()).toBe(
      "… b.example.com  pending_dns for 0 s  (primary)\n\n0 of 1 host live at 2026-11-20T12:00:00Z.\n",
    );
  });

  test("a screen never has more rows than the terminal, and says how many lines are hidden", async () => {
    const { display, text } = createDisplay(40, 10);
    const show = createWatchOutput({ display, print }, { clock: () => NOON, json: false });
    const hosts = Array.from({ length: 20 }, (_, index) =>
      screenOf(`h${index}.example.com`, ["x".repeat(90)]),
    );
    await show(step(hosts));
    const rows = text().trimEnd().split("\n");
    expect(rows.length).toBe(9);
    expect(rows.at(-1)).toMatch(/^… \d+ more lines$/);
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(40);
  });

  test("a terminal that reports no size is taken as one with 80 columns and 24 rows", async () => {
    const { display, text } = createDisplay(0, 0);
    const show = createWatchOutput({ display, print }, { clock: () => NOON, json: false });
    await show(step(Array.from({ length: 30 }, () => screenOf("a.example.com", ["x ".repeat(90)]))));
    const rows = text().trimEnd().split("\n");
    expect([rows.length, Math.max(...rows.map((row) => row.length))]).toEqual([23, 80]);
  });

  test("elsewhere, and with --json, one line is printed per change", async () => {
    const printed: string[] = [];
    const keep = async (text: string) => printed.push(text) > 0;
    const { display } = createDisplay(80, 24);
    const clock = () => NOON;
    await createWatchOutput(
      { display: undefined, print: keep },
      { clock, json: false },
    )(step([screenOf("a.example.com")]));
    await createWatchOutput(
      { display, print: keep },
      { clock, json: true },
    )(step([screenOf("a.example.com")]));
    expect(printed[0]).toBe("2026-11-20T12:00:00Z  a.example.com  pending_dns\n");
    expect(JSON.parse(printed[1] ?? "")).toMatchObject({ host: "a.example.com", state: "pending_dns" });
  });
});

test.each([
  ["short", 20, ["short"]],
  ["    now  one two three four", 20, ["    now  one two", "         three four"]],
  ["x".repeat(25), 20, ["x".repeat(20), `         ${"x".repeat(5)}`]],
])("the line %j is wrapped at %i columns to %j", (line, columns, rows) => {
  expect(wrapLine(line, columns)).toEqual(rows);
});
