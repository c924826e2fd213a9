import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

/** What each room may import from the project, besides itself. The README draws the same arrows. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  "lib/errors.ts": [],
  "lib/clock.ts": [],
  "lib/issues.ts": ["lib/errors.ts"],
  "lib/orders": ["lib/errors.ts", "lib/clock.ts"],
  "lib/plans": ["lib/errors.ts", "lib/clock.ts"],
  "lib/accounts": ["lib/errors.ts", "lib/clock.ts", "lib/plans"],
  "lib/domains": ["lib/errors.ts", "lib/clock.ts", "lib/issues.ts", "lib/plans"],
  "lib/http": ["lib/errors.ts", "lib/clock.ts", "lib/orders", "lib/plans", "lib/accounts", "lib/domains"],
  "lib/stores": ["lib/errors.ts", "lib/clock.ts", "lib/orders", "lib/plans", "lib/accounts"],
  "lib/node": ["lib/errors.ts", "lib/clock.ts", "lib/http", "lib/domains"],
  "lib/lambda": ["lib/errors.ts", "lib/clock.ts", "lib/http"],
  "lib/client": ["lib/errors.ts", "lib/clock.ts", "lib/orders"],
  "lib/cli": ["lib"],
  "lib/index.ts": ["lib/errors.ts", "lib/clock.ts", "lib/orders", "lib/plans", "lib/accounts", "lib/domains"],
  infra: ["lib"],
};

/** Packages and Node modules that a room may use. Everything else is closed to it. */
const VENDORS: Readonly<Record<string, readonly RegExp[]>> = {
  "lib/accounts": [/^node:(crypto|zlib)$/],
  "lib/domains": [/^(zod|tldts)$/, /^node:(url|net)$/],
  "lib/http": [/^node:crypto$/],
  "lib/stores/contract": [/^node:assert\/strict$/],
  "lib/stores": [
    /^node:(fs|path|sqlite|timers\/promises|stream\/consumers|crypto)$/,
    /^@aws-sdk\/client-dynamodb$/,
    /^@smithy\//,
  ],
  "lib/node": [/^node:/, /^srvx\/node$/],
  "lib/cli": [/./],
  infra: [/./],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly typeOnly: boolean;
}

const sources = globSync(["lib/**/*.{ts,mjs}", "infra/**/*.ts"]);
const text = (file: string) => readFileSync(file, "utf8");
const imports: readonly Import[] = sources.flatMap((file) =>
  [
    ...text(file).matchAll(
      /(?:^(import|export)\s+(type\s)?[^;]*?\sfrom\s+|^import\s+|\bimport\()"([^"]+)"/gms,
    ),
  ].map(([, , typeOnly, from = ""]) => ({ file, from, typeOnly: typeOnly !== undefined })),
);
const local = imports
  .filter(({ from }) => from.startsWith("."))
  .map((entry) => ({ ...entry, target: normalize(join(dirname(entry.file), entry.from)) }));

const inside = (file: string, room: string) => file === room || file.startsWith(`${room}/`);
const roomOf = (file: string) => Object.keys(ROOMS).find((room) => inside(file, room));

test("the reader of imports sees them", () => {
  expect(local.length).toBeGreaterThan(100);
  expect(imports.filter(({ from }) => from.startsWith("node:")).length).toBeGreaterThan(5);
});

test("every file stands in a room", () => {
  expect(sources.filter((file) => roomOf(file) === undefined)).toEqual([]);
});

describe("arrows", () => {
  test("no room imports another that it must not know", () => {
    const wrong = local.filter(({ file, target }) => {
      const room = roomOf(file) ?? "";
      return !inside(target, room) && !(ROOMS[room] ?? []).some((allowed) => inside(target, allowed));
    });
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test("no file imports itself by way of others", () => {
    const next = (file: string) =>
      local.filter((entry) => entry.file === file && !entry.typeOnly).map(({ target }) => target);
    for (const start of sources) {
      const seen = new Set<string>();
      const queue = next(start);
      for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
        expect(file, `a circle through ${start}`).not.toBe(start);
        if (!seen.has(file)) queue.push(...next(file));
        seen.add(file);
      }
    }
  });

  test("stores know the ports by type only", () => {
    const wrong = local.filter(
      ({ file, target, typeOnly }) => inside(file, "lib/stores") && /-store\.ts$/.test(target) && !typeOnly,
    );
    expect(wrong).toEqual([]);
  });
});

describe("vendors", () => {
  test("the rules need none, and every other room just its own", () => {
    const wrong = imports.filter(({ file, from }) => {
      const vendorRoom = Object.keys(VENDORS).find((room) => inside(file, room));
      const allowed = VENDORS[vendorRoom ?? ""] ?? [];
      return !from.startsWith(".") && !allowed.some((vendor) => vendor.test(from));
    });
    expect(wrong.map(({ file, from }) => `${file} -> ${from}`)).toEqual([]);
  });
});

describe("habits", () => {
  const entries = /^(lib\/cli\/bin\.ts|infra\/(.*\/)?entry\.ts|infra\/config\/settings\.ts)$/;

  test("process.env is read in entry files alone", () => {
    expect(sources.filter((file) => text(file).includes("process.env") && !entries.test(file))).toEqual([]);
  });

  test("the machine's clock is read through Clock alone, so that time can be passed in", () => {
    const readers = sources.filter((file) => /Date\.now\(|new Date\(\)/.test(text(file)));
    expect(readers.filter((file) => !/^lib\/(clock\.ts|cli\/|node\/|lambda\/)|^infra\//.test(file))).toEqual(
      [],
    );
  });

  test("what may be guessed is drawn by Math.random: how long to wait, and an order's identifier", () => {
    const drawers = sources.filter((file) => text(file).includes("Math.random"));
    expect(drawers.toSorted()).toEqual([
      "lib/client/client.ts",
      "lib/orders/orders.ts",
      "lib/stores/dynamodb/client.ts",
      "lib/stores/sqlite/errors.ts",
    ]);
  });

  test("a file holds one concept: none is longer than 200 lines", () => {
    expect(sources.filter((file) => text(file).split("\n").length > 201)).toEqual([]);
  });

  test("there is no drawer", () => {
    expect(sources.filter((file) => /(^|\/)(utils?|helpers?|types?|common|misc)(\.|\/)/.test(file))).toEqual(
      [],
    );
  });
});
