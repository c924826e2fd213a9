import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../../lib/metrics/index.ts";
import { table } from "../documents/markdown.ts";

const deploy = new URL("../../lib/node/deploy/", import.meta.url);
const dashboard = JSON.parse(readFileSync(new URL("grafana-dashboard.json", deploy), "utf8"));
const rules = parse(readFileSync(new URL("prometheus-rules.yml", deploy), "utf8"));

const names = (await createMetrics().registry.getMetricsAsJSON()).flatMap(({ name, type }) =>
  `${type}` === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
);
const metricsIn = (query: string) =>
  query.match(/\b(?:store_orders|nodejs|process)_\w+/g)?.filter((name) => name !== "store_orders") ?? [];
/** What the nightly backup writes for the node exporter. */
const ofBackup = metricsIn(readFileSync(new URL("store-orders-backup.service", deploy), "utf8"));

const queries: readonly { source: string; expr: string }[] = [
  ...dashboard.panels.flatMap(({ title, targets }: { title: string; targets: { expr: string }[] }) =>
    targets.map(({ expr }) => ({ source: `the panel ${title}`, expr })),
  ),
  ...rules.groups.flatMap(({ rules: group }: { rules: { alert: string; expr: string }[] }) =>
    group.map(({ alert, expr }) => ({ source: `the alert ${alert}`, expr })),
  ),
].filter(({ expr }) => !expr.startsWith("up{"));

test("there are queries", () => {
  expect(queries.length).toBeGreaterThan(15);
});

test.each(queries)("$source uses metrics that the service or its backup has: $expr", ({ expr }) => {
  const used = metricsIn(expr);
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((name) => !names.includes(name) && !ofBackup.includes(name))).toEqual([]);
});

test("no query adds a series without a label beside those that have one", () => {
  for (const { source, expr } of queries) expect(expr, source).not.toMatch(/\bor (?!on\(\))vector/);
});

test("the dashboard shows every metric of the service", () => {
  const shown = queries.filter(({ source }) => source.startsWith("the panel")).map(({ expr }) => expr);
  const own = names.filter((name) => /^store_orders_/.test(name) && !/_(?:count|sum)$/.test(name));
  expect(own.filter((name) => !shown.some((expr) => expr.includes(name)))).toEqual([]);
});

test("the documented metrics are those of the service", () => {
  const { rows } = table("lib/node/README.md", "metric", "labels", "meaning");
  const documented = rows.map(([name]) => name).filter((name) => name?.startsWith("store_orders_"));
  const own = names.flatMap((name) => /^(store_orders_.*?)(?:_bucket)?$/.exec(name)?.[1] ?? []);
  expect(documented).toEqual(own.filter((name) => !/_(?:count|sum)$/.test(name)));
});
