import { expect, test } from "vitest";
import { parse } from "yaml";
import { codeBlocks, document } from "./markdown.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly env?: object;
  readonly steps: readonly Step[];
}

const [text = ""] = codeBlocks(document("infra/README.md"), "yaml");
const pipeline = parse(text) as { permissions: object; env?: object; jobs: Readonly<Record<string, Job>> };
const jobs = Object.entries(pipeline.jobs);
const secretsIn = (part: unknown) => JSON.stringify(part ?? {}).includes("secrets.");

test("the pipeline pins every action to a commit", () => {
  const actions = jobs.flatMap(([, { steps }]) => steps.flatMap(({ uses }) => uses ?? []));
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => !action.endsWith("@<full commit digest>"))).toEqual([]);
});

test("the tests of the pipeline run without secrets and without an identity", () => {
  const { test: tests } = pipeline.jobs;
  expect(secretsIn(tests)).toBe(false);
  expect(tests).not.toHaveProperty("environment");
  expect(tests?.permissions).toEqual({ contents: "read" });
});

test("the pipeline passes secrets only to single steps, never to a step that installs something", () => {
  expect({ env: pipeline.env, permissions: pipeline.permissions }).toEqual({ permissions: {} });
  for (const [name, { env, steps }] of jobs) {
    expect({ name, env }).toEqual({ name });
    const withSecrets = steps.filter(secretsIn);
    expect(withSecrets.filter(({ run }) => !/^npx --no-install pulumi \$COMMAND/.test(run ?? ""))).toEqual(
      [],
    );
    const identity = steps.findIndex(({ uses }) => uses?.includes("credentials") === true);
    const installs = steps.findLastIndex(({ run }) => /\bnpm ci\b|\bcurl\b|plugin install/.test(run ?? ""));
    if (identity !== -1) expect(installs, name).toBeLessThan(identity);
  }
});

test("the preview and each stack have separate environments in the pipeline", () => {
  const environments = jobs.flatMap(([, { environment }]) => environment ?? []);
  expect(environments).toEqual(["preview", "staging", "production"]);
});
