import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { cloud } from "../infra/harness/cloud.ts";
import { AWS, deploy } from "../infra/harness/deployed.ts";
import { run as runProgram } from "../infra/harness/program.ts";
import { clientFor } from "../support/dynamodb/emulator.ts";
import { useExamples } from "./examples-fixture.ts";
import { runSuccessfully, typeErrors } from "./installed.ts";

const { homeOf } = useExamples("beside-a-stack", "domains-in-code", "own-domain");

test("a service places and ships orders beside a deployed stack, which lists and cancels them", async () => {
  const home = homeOf("beside-a-stack");
  const deployed = await deploy(await runProgram({ stack: "production", bundle: true, cloud: cloud() }));
  onTestFinished(() => deployed.stop());
  const client = clientFor(deployed.endpoint);
  const store = createDynamodbStore({ prefix: "store-orders-production", client });
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  await accounts.create("acme", { plan: "pro" });
  const issued = await accounts.issueKey("acme");
  client.destroy();
  const headers = { authorization: `Bearer ${issued.ok ? issued.key : ""}` };
  const call = async (method: string, path: string) => {
    const { status, body } = await deployed.fetch(method, `https://orders.example.com/v1${path}`, headers);
    return `${status} ${body}`.slice(0, 60);
  };
  const service = async (...args: string[]) => {
    const env = { ...AWS, AWS_ENDPOINT_URL: deployed.endpoint };
    return (await runSuccessfully(home, "node", ["main.ts", ...args], env)).trim().split("\n");
  };

  expect(await service("place", "1", "2")).toEqual(["1: place, now pending", "2: place, now pending"]);
  expect(await call("GET", "/store/orders")).toBe('200 [{"id":1,"quantity":1},{"id":2,"quantity":1}]');
  expect(await call("DELETE", "/store/orders/1")).toBe("204 ");
  expect(await service("ship", "1", "2")).toEqual(["1: order_already_cancelled", "2: ship, now shipped"]);
  expect(await call("DELETE", "/store/orders/2")).toMatch(/^409 \{"code":"order_already_shipped"/);
});

test("domains that are defined in TypeScript are served and deployed from the same module", async () => {
  const home = homeOf("domains-in-code");
  const location = "https://orders.example.com/v1/store/orders?limit=1";
  expect((await runSuccessfully(home, "node", ["serve.ts"])).trim().split("\n")).toEqual([
    "orders.example.com: 401 -",
    "api.example.com: 401 -",
    `example.com: 301 ${location}`,
    `www.example.com: 301 ${location}`,
    `xn--bcher-kva.example.com: 301 ${location}`,
    "unknown.example.com: 421 -",
  ]);

  const { code, errors, stackOutputs } = await runProgram({
    program: join(home, "deploy.ts"),
    stack: "production",
    config: {},
    cloud: cloud(),
  });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  const output = (role: string, name: string, host: string) => ({
    ...{ role, dns: "cloudflare", state: "live" },
    record: {
      ...{ type: "CNAME", name, zone: "example.com", ttl: 3600 },
      value: `d-${host.replaceAll(".", "")}.execute-api.eu-central-1.amazonaws.com`,
    },
    validationRecord: {
      ...{ type: "CNAME", name: name === "@" ? "_0123" : `_0123.${name}`, zone: "example.com", ttl: 3600 },
      value: "_4567.acm-validations.aws",
    },
    reason: "The record points to the API.",
    next: [],
  });
  expect(stackOutputs).toEqual({
    baseUrl: "https://orders.example.com/v1",
    domainStatus: {
      "orders.example.com": output("primary", "orders", "orders.example.com"),
      "api.example.com": output("alias", "api", "api.example.com"),
      "example.com": output("redirect", "@", "example.com"),
      "www.example.com": output("redirect", "www", "www.example.com"),
      "xn--bcher-kva.example.com": output("redirect", "xn--bcher-kva", "xn--bcher-kva.example.com"),
    },
  });
});

test("an editor shows what is wrong with a mapping in TypeScript, and nothing serves an unvalidated one", async () => {
  const home = homeOf("domains-in-code");
  const mistakes = `
import { defineDomains, hostTable } from "store-orders/domains";
import { withDefaults } from "store-orders/infra";
export const misspelled = defineDomains({ primray: "orders.example.com" });
export const status = defineDomains({ primary: "a.example.com", redirects: [{ from: "b.example.com", to: "a.example.com", status: 302 }] });
export const plan = defineDomains({ primary: "a.example.com" }, { plan: "gold" });
export const table = hostTable({ primary: "orders.example.com", aliases: [], redirects: [] });
export const settings = withDefaults({ plan: "pro", domains: { primary: "orders.example.com" } });
`;
  await writeFile(join(home, "mistakes.ts"), mistakes);
  const errors = (await typeErrors(home, ["mistakes.ts"]))
    .split("\n")
    .filter((line) => line.startsWith("mistakes.ts"));
  expect(errors.map((line) => /\((\d+),/.exec(line)?.[1])).toEqual(["4", "5", "6", "7", "8"]);
  expect(errors[0]).toContain("primary");
});

test("another Pulumi program publishes its API under a custom domain", async () => {
  const home = homeOf("own-domain");
  const { code, errors, registrations, stackOutputs } = await runProgram({
    program: join(home, "main.ts"),
    stack: "production",
    config: { "own-domain:host": "hello.example.com", "own-domain:zoneId": "zone-of-example.com" },
    cloud: cloud(),
  });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(stackOutputs).toEqual({
    host: "hello.example.com",
    target: "d-helloexamplecom.execute-api.eu-central-1.amazonaws.com",
    state: "live",
  });
  const records = registrations.filter(({ type }) => type === "cloudflare:index/dnsRecord:DnsRecord");
  expect(records.map(({ inputs }) => [inputs["name"], inputs["proxied"], inputs["ttl"]])).toEqual([
    ["_0123.hello.example.com", false, 3600],
    ["hello.example.com", false, 3600],
  ]);
});
