import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { freePort } from "../support/free-port.ts";
import { findProgram } from "./find-program.ts";
import { startProgram } from "./program-process.ts";

const prometheus = findProgram("prometheus");
const promtool = findProgram("promtool", "prometheus");
const deploy = new URL("../../lib/node/deploy/", import.meta.url).pathname;
const run = promisify(execFile);
const RULES = readFileSync(join(deploy, "prometheus-rules.yml"), "utf8").match(/- alert:/g)?.length ?? 0;
const BACKUP_ALERT =
  "The last good backup is more than a day old. Read the log of the unit store-orders-backup.";

describe.skipIf(promtool === undefined)("promtool", () => {
  test("promtool accepts the configuration and the rules", async () => {
    const { stdout } = await run(promtool ?? "", ["check", "config", join(deploy, "prometheus.yml")]);
    expect(stdout).toContain(`SUCCESS: ${RULES} rules found`);
  });

  test("an old backup and one that nobody has made are alerts, one of this night is none", async () => {
    const folder = mkdtempSync(join(tmpdir(), "store-orders-rules-"));
    const alertIn = (values: string | undefined, alert: boolean) => ({
      interval: "15m",
      input_series: values === undefined ? [] : [{ series: "store_orders_backup_timestamp_seconds", values }],
      alert_rule_test: [
        {
          ...{ eval_time: "30h", alertname: "StoreOrdersBackup" },
          exp_alerts: alert ? [{ exp_annotations: { summary: BACKUP_ALERT } }] : [],
        },
      ],
    });
    // A backup at the beginning, one after six hours, and none.
    const tests = [alertIn("0x200", true), alertIn("21600x200", false), alertIn(undefined, true)];
    const rules = { rule_files: [join(deploy, "prometheus-rules.yml")], tests };
    writeFileSync(join(folder, "test.json"), JSON.stringify(rules));
    const { stdout } = await run(promtool ?? "", ["test", "rules", join(folder, "test.json")]);
    expect(stdout).toContain("SUCCESS");
    rmSync(folder, { recursive: true });
  });
});

describe.skipIf(prometheus === undefined)("a Prometheus server", () => {
  const cli = createCommandLine();
  afterAll(() => cli[Symbol.dispose]());
  let api = "";
  let stop = () => {};
  afterAll(() => stop());

  beforeAll(async () => {
    const flags = ["--demo", "--metrics", "0", "--database", "demo.db"];
    const { url, message } = await cli.serve(flags, { pattern: /^try.*\n/m });
    const [, key = ""] = /^key +(\S+)/m.exec(message) ?? [];
    const [, target = ""] = /^metrics +http:\/\/([^/]+)/m.exec(message) ?? [];
    const headers = { authorization: `Bearer ${key}` };
    const request = (method: string, path: string) => fetch(`${url}/v1${path}`, { method, headers });
    await request("DELETE", "/store/orders/1001");
    // Until the key is banned.
    for (let text = ""; !text.includes("api_key_banned"); ) {
      text = await (await request("GET", "/store/orders")).text();
    }

    const shipped = readFileSync(join(deploy, "prometheus.yml"), "utf8");
    const config = shipped
      .replaceAll("15s", "1s")
      .replace("127.0.0.1:9464", target)
      .replace("prometheus-rules.yml", join(deploy, "prometheus-rules.yml"));
    writeFileSync(join(cli.directory, "prometheus.yml"), config);
    const address = `127.0.0.1:${await freePort()}`;
    const options = [
      "--config.file=prometheus.yml",
      "--storage.tsdb.path=data",
      `--web.listen-address=${address}`,
    ];
    ({ stop } = await startProgram(prometheus ?? "", options, {
      cwd: cli.directory,
      ready: /Server is ready to receive web requests/,
    }));
    api = `http://${address}/api/v1`;
    // Rates need two scrapes.
    while ((await query("count_over_time(up[1m]) >= 3")).length === 0) await sleep(250);
  });

  async function query(expression: string): Promise<readonly { value: [number, string] }[]> {
    const response = await fetch(`${api}/query?${new URLSearchParams({ query: expression })}`);
    const { status, data, error } = (await response.json()) as {
      status: string;
      data: { result: readonly { value: [number, string] }[] };
      error?: string;
    };
    if (status !== "success") throw new Error(`${expression}: ${error}`);
    return data.result;
  }

  test("scrapes the service", async () => {
    expect((await query('up{job="store-orders"}')).map(({ value }) => value[1])).toEqual(["1"]);
    const bans = await query("store_orders_bans_total");
    expect(bans.map(({ value }) => value[1]).filter((count) => count !== "0")).toEqual(["1"]);
  });

  test("a Prometheus server finds data for every query of the dashboard", async () => {
    const dashboard = JSON.parse(readFileSync(join(deploy, "grafana-dashboard.json"), "utf8"));
    const queries = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m")),
    );
    const results = await Promise.all(
      queries.map(async (text: string) => [text, (await query(text)).length]),
    );
    expect(results.filter(([, length]) => length === 0)).toEqual([]);
  });

  test("evaluates every rule, and none fires for a healthy service", async () => {
    const response = await fetch(`${api}/rules`);
    const { data } = (await response.json()) as {
      data: { groups: { rules: { name: string; health: string; state: string; lastError?: string }[] }[] };
    };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules).toHaveLength(RULES);
    expect(rules.filter(({ health, state }) => health !== "ok" || state === "firing")).toEqual([]);
  });
});
