import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { document, prose, table } from "../../documents/markdown.ts";
import { type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { listCost } from "./limits.ts";
import { type Measured, measure } from "./measure.ts";
import { PRICES_DATE } from "./prices.ts";
import { QUOTAS } from "./quotas.ts";
import { compressionRatio } from "./realistic-orders.ts";
import { drawScale, scaleRows } from "./scale.ts";
import { costTables, longListCost, optionCosts } from "./tables.ts";

const PATH = "infra/cost.md";

let emulator: Emulator;
let measured: Measured;
beforeAll(async () => {
  emulator = await startEmulator("all-old");
  measured = await measure(emulator.endpoint);
});
afterAll(() => emulator.stop());

describe("the section Cost", () => {
  test("the section Cost has what each operation consumes, what it costs, and the prices", () => {
    // In the document, code is read as its text.
    for (const [header = [], ...rows] of costTables(measured))
      expect(table(PATH, ...header).rows).toEqual(
        rows.map((row) => row.map((cell) => cell.replaceAll("`", ""))),
      );
  });

  test("the section Cost has the date of the prices, the number of metrics and the cost of a long list", () => {
    const text = prose(document(PATH)).replace(/\s+/g, " ");
    expect(text).toContain(`in ${PRICES_DATE}`);
    expect(text).toContain(`These operations write ${measured.metrics} custom metrics`);
    const { total, units, requests, streamed, seconds, duration } = longListCost(measured, 100e6);
    const thousands = Math.round(units / 1_000).toLocaleString("en-US");
    expect(text).toContain(
      `A list of 100 MB costs $${total.toFixed(3)}: about ${thousands},000 read units, ${requests} requests of the gateway, $${streamed.toFixed(5)} for streamed bytes, $${duration.toFixed(5)} for ${seconds} seconds of Lambda`,
    );
  });

  test("the section Cost, and that about WAF, have what each option adds to a month", () => {
    const text = [PATH, "infra/README.md"]
      .map((path) => prose(document(path)).replace(/\s+/g, " "))
      .join(" ");
    const { wafMonth, wafMillion, hostMonth } = optionCosts();
    const perMillion = `$${wafMillion.toFixed(2)} for a million requests`;
    expect(text).toContain(`- \`waf\` adds $${wafMonth} a month and ${perMillion}.`);
    expect(text).toContain(
      `It costs $${wafMonth} a month ($5 for the ACL, $1 for the rule) and ${perMillion}.`,
    );
    expect(text).toContain(`- Each host adds $${hostMonth.toFixed(2)} a month`);
  });
});

describe("infra/scale.md", () => {
  const SCALE = "infra/scale.md";

  test("the table has the first limit and the cost of each load", () => {
    const [header = [], ...rows] = scaleRows(measured, compressionRatio());
    // In the document, a link is read as its text.
    const expected = rows.map((row) =>
      row.map((cell) => cell.replace(/\[(.*?)\]\(.*?\)/, "$1").replaceAll("`", "")),
    );
    expect(table(SCALE, ...header).rows).toEqual(expected);
  });

  test("the chart is the one that the script draws", () => {
    const chart = readFileSync(new URL("../../../infra/scale.svg", import.meta.url), "utf8");
    expect(chart).toBe(drawScale(measured, compressionRatio()));
  });

  test("the text has the compression ratio and the longest list", () => {
    const ratio = compressionRatio();
    const text = prose(document(SCALE)).replace(/\s+/g, " ");
    expect(text).toContain(`makes a list of realistic orders ${ratio.toFixed(1)} times smaller`);
    const { bytes } = listCost(measured, ratio, 1);
    const longest = QUOTAS.streamBytes / bytes / 1e6;
    const seconds = (QUOTAS.streamBytes - QUOTAS.burstBytes) / QUOTAS.streamBytesPerSecond;
    expect(text).toContain(`million orders, after ${seconds} seconds`);
    expect(text).toContain(`each takes ${QUOTAS.requestsPerSecond} requests a second`);
    expect(text).toContain(`ends at about ${longest.toFixed(1)} million orders`);
    // Rounded down.
    expect(Math.floor((longest / ratio) * 10) / 10).toBe(1.6);
    expect(text).toContain("not compressed ends at 1.6 million orders");
  });
});
