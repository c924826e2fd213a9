import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

const HINT = (names: string, first: string) =>
  `npm took ${names} for itself. Write -- before the options, as in 'npm start -- ${first} …'.\n`;

/** Runs the command as npm runs it for a script, with the options that it took. */
const runUnderNpm = (args: readonly string[], env: Record<string, string>) =>
  cli.run(args, { env: { npm_lifecycle_event: "start", npm_config_json: "true", ...env } });

test("an option that npm took for itself is pointed out, whether its value is left over or not", async () => {
  const [left, whole, several] = await Promise.all([
    runUnderNpm(["serve", "8788"], { npm_config_port: "true" }),
    runUnderNpm(["openapi"], { npm_config_port: "8788" }),
    runUnderNpm(["openapi"], { npm_config_database: "x.db", npm_config_base_path: "/shop" }),
  ]);
  expect(left).toMatchObject({ status: 2, stdout: "" });
  expect(left.stderr).toMatch(/^error: too many arguments for 'serve'/);
  expect(left.stderr).toContain(HINT("--port", "--port"));
  expect(whole).toMatchObject({ status: 0, stderr: HINT("--port", "--port") });
  expect(several.stderr).toBe(HINT("--database and --base-path", "--database"));
});

test("without npm, or without such an option, there is no hint", async () => {
  const [own, none] = await Promise.all([
    cli.run(["openapi"], { env: { npm_config_port: "8788" } }),
    runUnderNpm(["openapi"], { npm_config_loglevel: "warn" }),
  ]);
  expect([own.stderr, none.stderr]).toEqual(["", ""]);
});
