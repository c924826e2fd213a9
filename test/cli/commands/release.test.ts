import { afterAll, describe, expect, test } from "vitest";
import { createCommandLine } from "../../support/command-line.ts";
import { type FakeReleaseApi, startReleaseApi } from "../../support/release-api.ts";

// The AWS clients read their region and endpoint from the environment of the process.
const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

const release = (version: string) => ({
  functions: ["list", "api"].map((name) => ({ name, alias: "live", version })),
  alarms: ["list-errors", "api-errors"],
});
const outputs = (version: string) => JSON.stringify({ ordersTable: "orders", release: release(version) });

/** Half a second of watching: one look at the alarms. */
const SHORT = ["--minutes", "0.01"];

function run({ endpoint }: Pick<FakeReleaseApi, "endpoint">, input: string, ...args: readonly string[]) {
  const env = {
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_MAX_ATTEMPTS: "1",
  };
  return cli.run(["release", "--stack", "-", ...args], { input, env });
}

const versions = ({ aliases }: FakeReleaseApi) => [...aliases.values()].map((each) => each.FunctionVersion);

test("a release gives the new version a part of the traffic, and all of it if no alarm fires", async () => {
  await using api = await startReleaseApi();
  const { status, stdout, stderr } = await run(api, outputs("2"), ...SHORT, "--json");
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(api.changes).toEqual(["list 1 + 2 (10 %)", "api 1 + 2 (10 %)", "list 2", "api 2"]);
  expect(JSON.parse(stdout)).toEqual({
    ok: true,
    state: "shifted",
    functions: ["list", "api"].map((name) => ({ function: name, from: "1", to: "2" })),
  });
  expect(stderr).toContain("list: 10 % of the requests go to version 2, the others to 1.\n");
});

test("an alarm gives all traffic back to the old version, and the command exits with 1", async () => {
  await using api = await startReleaseApi();
  let looks = 0;
  api.onAlarms = () => looks++ === 1 && api.alarms.set("api-errors", "ALARM");
  const { status, stdout, stderr } = await run(api, outputs("2"), ...SHORT, "--percent", "25");
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("These alarms fired, so the old version has all traffic again: api-errors.");
  expect(api.changes).toEqual(["list 1 + 2 (25 %)", "api 1 + 2 (25 %)", "list 1", "api 1"]);
});

test("a shift is not begun while an alarm fires", async () => {
  await using api = await startReleaseApi();
  api.alarms.set("list-errors", "ALARM");
  const { status, stderr } = await run(api, outputs("2"), "--json");
  expect(status).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({ code: "alarm_firing" });
  expect(api.changes).toEqual([]);
});

test("a signal to stop gives all traffic back to the old version", async () => {
  await using api = await startReleaseApi();
  const env = {
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: api.endpoint,
    AWS_ACCESS_KEY_ID: "t",
    AWS_SECRET_ACCESS_KEY: "t",
  };
  const child = cli.spawn(["release", "--stack", "-"], { env });
  child.stdin.end(outputs("2"));
  await expect.poll(() => api.changes.length, { timeout: 20_000 }).toBe(2);
  child.kill("SIGTERM");
  await expect.poll(() => api.changes.slice(2), { timeout: 20_000 }).toEqual(["list 1", "api 1"]);
});

test("a released version can be rolled back once, at once", async () => {
  await using api = await startReleaseApi();
  expect(await run(api, outputs("2"), "--minutes", "0")).toMatchObject({ status: 0 });
  expect(versions(api)).toEqual(["2", "2"]);
  const { status, stdout } = await run(api, outputs("2"), "--rollback");
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: "Rolled back list from version 2 to 1, api from version 2 to 1.\n",
  });
  expect(versions(api)).toEqual(["1", "1"]);
  expect(await run(api, outputs("2"), "--rollback")).toMatchObject({ status: 1, stdout: "" });
});

test("a release without a new version changes nothing, and leaves nothing to roll back to", async () => {
  await using api = await startReleaseApi();
  await run(api, outputs("2"), "--minutes", "0");
  expect(await run(api, outputs("2"))).toMatchObject({ status: 0, stdout: "Nothing to shift.\n" });
  expect(versions(api)).toEqual(["2", "2"]);
  expect(await run(api, outputs("2"), "--rollback")).toMatchObject({ status: 1 });
});

test("a release after an interrupted one completes it", async () => {
  await using api = await startReleaseApi();
  const RoutingConfig = { AdditionalVersionWeights: { "2": 0.1 } };
  api.aliases.set("list", { FunctionVersion: "1", RevisionId: "r0", RoutingConfig });
  api.aliases.set("api", { FunctionVersion: "2", RevisionId: "r0" });
  expect(await run(api, outputs("2"), ...SHORT)).toMatchObject({ status: 0 });
  expect(versions(api)).toEqual(["2", "2"]);
  expect(api.aliases.get("list")?.RoutingConfig).toEqual({ AdditionalVersionWeights: {} });
});

test("if someone else changes an alias meanwhile, the release stops and does not overwrite the change", async () => {
  await using api = await startReleaseApi();
  let looks = 0;
  api.onAlarms = () => {
    if (looks++ === 1) api.aliases.set("api", { FunctionVersion: "3", RevisionId: "other" });
  };
  const { status, stderr } = await run(api, outputs("2"), ...SHORT);
  expect(status).toBe(1);
  expect(stderr).toContain("Someone else has changed an alias.");
  expect(versions(api)).toEqual(["1", "3"]);
});

test("a stack without a canary has nothing to shift, and needs no access to AWS", async () => {
  const { status, stdout, stderr } = await run(
    { endpoint: "http://127.0.0.1:9" },
    '{"ordersTable":"orders"}',
  );
  expect({ status, stdout }).toEqual({ status: 0, stdout: "Nothing to shift.\n" });
  expect(stderr).toContain("The stack has no canary");
});

describe("an error", () => {
  test("an error exits with 3 if AWS cannot be reached", async () => {
    const { status, stderr } = await run({ endpoint: "http://127.0.0.1:9" }, outputs("2"));
    expect(status).toBe(3);
    expect(stderr).toMatch(/^error: AWS cannot be reached: /);
  });

  test.each([
    [
      "outputs of another stack",
      '{"url":"x"}',
      [],
      /have no 'release'.* Pass what 'pulumi stack output --json' prints/,
    ],
    ["no JSON", "baseUrl: x", [], /This is not JSON/],
    [
      "a function that does not exist",
      JSON.stringify({
        release: { ...release("2"), functions: [{ name: "gone", alias: "live", version: "2" }] },
      }),
      [],
      /Function not found: gone\. Pass the outputs of the last update/,
    ],
    [
      "an alarm that does not exist",
      JSON.stringify({ release: { ...release("2"), alarms: ["gone"] } }),
      [],
      /The alarms gone do not exist/,
    ],
    ["too many minutes", outputs("2"), ["--minutes", "61"], /from 0 to 60/],
    ["all traffic for a part", outputs("2"), ["--percent", "100"], /from 1 to 99/],
  ])("an error exits with 2 for %s, and changes nothing", async (_case, input, args, message) => {
    await using api = await startReleaseApi();
    const { status, stderr } = await run(api, input, ...args);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect(api.changes).toEqual([]);
  });
});
