import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { watchDomainsFile } from "../../lib/cli/domains-file.ts";
import { routeHost } from "../../lib/domains/routing.ts";

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "store-orders-domains-"));
  file = join(folder, "domains.yaml");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Replaces the file in one step, so that its identity changes even within the resolution of its time. */
function replace(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function watch() {
  const reports: string[] = [];
  const hosts = watchDomainsFile(file, "pro", ["127.0.0.1"], (line) => reports.push(line));
  const serves = (host: string) => routeHost(hosts(), host, "/").action === "serve";
  return { reports, serves };
}

describe("a served domains file", () => {
  test.each<[string, string, () => void]>([
    ["deleted", "missing", () => rmSync(file)],
    ["replaced by an invalid mapping", "invalid", () => replace("domains: { primary: 5 }")],
    ["replaced by text that is not YAML", "invalid", () => replace("domains: [")],
    ["emptied", "invalid", () => replace("")],
    [
      "replaced by a directory",
      "invalid",
      () => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
    [
      "replaced by a link to itself",
      "invalid",
      () => {
        rmSync(file);
        symlinkSync(file, file);
      },
    ],
  ])(
    "after the file was %s, the previous mapping stays in effect, and this is reported once",
    (_name, state, spoil) => {
      replace("domains: { primary: orders.example.com }");
      const { reports, serves } = watch();
      spoil();
      for (let request = 0; request < 5; request += 1) {
        expect([serves("orders.example.com"), serves("shop.example.com")]).toEqual([true, false]);
      }
      expect(reports).toEqual([
        expect.stringContaining(`${file} has changed and is ${state}; keeping the previous configuration: `),
      ]);

      rmSync(file, { recursive: true, force: true });
      replace("domains: { primary: shop.example.com }");
      expect([serves("orders.example.com"), serves("shop.example.com")]).toEqual([false, true]);
      expect(reports.slice(1)).toEqual([`${file} has changed and is now in effect.`]);
    },
  );

  test("a file that is missing or invalid at the start is an error", () => {
    expect(watch).toThrow("The file does not exist (ENOENT)");
    replace("domains: { primary: 5 }");
    expect(watch).toThrow("domains.primary");
  });
});
