import { afterAll, expect, test } from "vitest";
import { createCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

/** A demo server with flags. */
async function serve(database: string, ...flags: readonly string[]) {
  const process = cli.spawn(["serve", "--demo", "--json", "--port", "0", "--database", database, ...flags]);
  process.stderr.resume();
  const { url, docs, key } = JSON.parse(await waitForOutput(process, /\}\s*$/)) as Record<string, string>;
  const headers = { authorization: `Bearer ${key}` };
  const exit = waitForExit(process);
  const stop = () => {
    process.kill("SIGTERM");
    return exit;
  };
  return { url: url ?? "", docs: docs ?? "", headers, stop };
}

test("serve --base-path serves everything below the path, and the document names the servers of --server", async () => {
  const production = "https://example.com/shop/v1";
  const staging = "https://staging.example.com/shop/v1";
  const { url, docs, headers, stop } = await serve(
    "base.db",
    ...["--base-path", "/shop", "--server", production, "--server", staging],
  );
  expect([url.endsWith("/shop/v1"), docs.endsWith("/shop/docs")]).toEqual([true, true]);
  expect((await fetch(`${url}/store/orders`, { headers })).status).toBe(200);
  expect((await fetch(docs)).status).toBe(200);
  expect((await fetch(new URL("/v1/store/orders", url), { headers })).status).toBe(404);
  expect((await fetch(new URL("/shop/readyz", url))).status).toBe(200);

  const { servers } = (await (await fetch(new URL("../openapi.json", `${url}/`))).json()) as {
    servers: { url: string }[];
  };
  expect(servers.map((server) => new URL(server.url, new URL("/shop/openapi.json", url)).href)).toEqual([
    url,
    production,
    staging,
  ]);
  const pet = await fetch(`${url}/pets/1`, { headers });
  const [, link = ""] = /^<([^>]+)>/.exec(pet.headers.get("link") ?? "") ?? [];
  expect(new URL(link, url).href).toBe(docs);
  expect((await stop()).status).toBe(0);
});

test("serve --docs-url sets the Link, and --ban-after and --ban-minutes the ban", async () => {
  const { url, headers, stop } = await serve(
    "ban.db",
    ...["--docs-url", "https://docs.example.com/pets", "--ban-after", "1", "--ban-minutes", "2"],
  );
  const pet = await fetch(`${url}/pets/1`, { headers });
  expect(pet.headers.get("link")).toMatch(/^<https:\/\/docs\.example\.com\/pets>/);
  let last = pet;
  // The limit is 60 a minute; a minute can begin in between.
  for (let requests = 0; requests < 130; requests++) {
    last = await fetch(`${url}/store/orders/9`, { method: "DELETE", headers });
    const { code } = (await last.json()) as { code: string };
    if (code === "api_key_banned") break;
  }
  expect(last.status).toBe(429);
  expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(60);
  expect(Number(last.headers.get("retry-after"))).toBeLessThanOrEqual(120);
  await stop();
});

test("serve --host without a value, as from a variable that is not set, exits with 2", async () => {
  const child = cli.spawn(["serve", "--host", "", "--port", "0", "--database", "host.db"]);
  const stopping = setTimeout(() => child.kill("SIGTERM"), 5_000);
  const { status, stdout, stderr } = await waitForExit(child);
  clearTimeout(stopping);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toBe(
    "error: --host: The host is empty. Use 127.0.0.1 for this machine only, or 0.0.0.0 for every address of it.\n",
  );
});

test("openapi prints no example host, and the given servers", async () => {
  const text = (await cli.run(["openapi"])).stdout;
  expect(JSON.parse(text).servers).toEqual([{ url: "./v1", description: "This server" }]);
  expect(text).not.toMatch(/example\.(?:com|org|net)/);
  const servers = ["https://a.example/v1", "https://b.example/v1"];
  const { stdout } = await cli.run(["openapi", "--server", ...servers]);
  expect(JSON.parse(stdout).servers).toEqual(servers.map((url) => ({ url })));
});
