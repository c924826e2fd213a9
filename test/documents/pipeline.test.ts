import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "./markdown.ts";

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string;
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly env?: object;
  readonly concurrency?: { readonly group: string; readonly "cancel-in-progress": boolean };
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly concurrency?: { readonly "cancel-in-progress": boolean };
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (path: string) => readFileSync(join(ROOT, ".github", path), "utf8");
const workflow = (name: string): Workflow => parse(read(`workflows/${name}.yml`));
const WORKFLOWS = ["check", "preview", "deploy", "drift", "release"] as const;
const jobs = WORKFLOWS.flatMap((name) =>
  Object.entries(workflow(name).jobs).map(([job, content]) => ({ name: `${name}: ${job}`, ...content })),
);
const files = globSync(["workflows/*.yml", "actions/*/action.yml"], { cwd: join(ROOT, ".github") });
const secretsIn = (part: unknown) => JSON.stringify(part ?? {}).includes("secrets.");

test("there are no other workflows than those that are checked here", () => {
  expect(files.toSorted()).toEqual([
    ...["actions/deploy/action.yml", "actions/install/action.yml"],
    ...WORKFLOWS.map((name) => `workflows/${name}.yml`).toSorted(),
  ]);
});

test("every action of others is pinned to a commit, with its version beside it", () => {
  const actions = files.flatMap((file) =>
    [...read(file).matchAll(/uses: (.+)$/gm)].map(([, uses = ""]) => uses),
  );
  const foreign = actions.filter((uses) => !uses.startsWith("./.github/"));
  expect(foreign.length).toBeGreaterThan(8);
  expect(foreign.filter((uses) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(uses))).toEqual([]);
  expect(new Set(foreign).size).toBe(new Set(foreign.map((uses) => uses.split("@")[0])).size);
});

test("no workflow has a permission or an environment variable of its own, only single jobs and steps have", () => {
  for (const name of WORKFLOWS) expect(workflow(name).permissions, name).toEqual({});
  expect(jobs.filter(({ env }) => env !== undefined)).toEqual([]);
});

test("no expression is inserted into a script, where its text would be run", () => {
  for (const file of files) {
    const content = parse(read(file));
    const steps: Step[] = [content, ...Object.values(content.jobs ?? {})].flatMap(
      (part) => part.steps ?? part.runs?.steps ?? [],
    );
    expect(
      steps.filter(({ run }) => run?.includes("${{")),
      file,
    ).toEqual([]);
  }
});

test("the tests run without secrets, without an identity, and for pull requests of forks too", () => {
  const { on, jobs } = workflow("check");
  expect(Object.keys(on)).toEqual(["pull_request", "workflow_call"]);
  expect(secretsIn(jobs)).toBe(false);
  expect(jobs["test"]).not.toHaveProperty("environment");
  expect(jobs["test"]?.permissions).toEqual({ contents: "read" });
});

test("everything is installed before a step gets credentials, and no installation gets a secret", () => {
  for (const { name, steps = [] } of jobs) {
    const identity = steps.findIndex(({ uses }) => uses?.includes("configure-aws-credentials") === true);
    const installs = steps.findLastIndex(({ uses }) => uses?.endsWith("/install") === true);
    if (identity !== -1) expect(installs, name).toBeLessThan(identity);
    expect(
      steps.filter((step, index) => secretsIn(step) && index <= identity),
      name,
    ).toEqual([]);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    for (const step of checkouts) expect(step.with, name).toMatchObject({ "persist-credentials": false });
  }
  expect(secretsIn(parse(read("actions/install/action.yml")))).toBe(false);
});

test("the job that can write to a pull request runs none of its code", () => {
  const writers = (["check", "preview", "deploy", "drift"] as const)
    .flatMap((name) => Object.values(workflow(name).jobs))
    .filter(({ permissions }) =>
      Object.entries(permissions).some(([scope, access]) => scope !== "id-token" && access === "write"),
    );
  expect(writers).toEqual([workflow("preview").jobs["comment"]]);
  expect(
    writers[0]?.steps?.filter(({ uses, run }) => uses !== undefined || /npm|npx|node/.test(run ?? "")),
  ).toEqual([]);
});

test("staging is deployed after the tests, production after staging, each in its own environment, never interrupted", () => {
  const { jobs, on, concurrency } = workflow("deploy");
  expect(on).toEqual({ push: { branches: ["main"] } });
  // A queue of whole runs would hold back staging while an earlier run waits for the approval of production.
  expect(concurrency).toBeUndefined();
  expect(jobs["check"]?.uses).toBe("./.github/workflows/check.yml");
  expect(Object.entries(jobs).map(([name, { needs, environment }]) => [name, needs, environment])).toEqual([
    ["check", undefined, undefined],
    ["staging", "check", "staging"],
    ["production", "staging", "production"],
  ]);
  for (const name of ["staging", "production"]) {
    const { concurrency: queue, steps = [] } = jobs[name] ?? {};
    expect(queue).toEqual({ group: `stack-${name}`, "cancel-in-progress": false });
    const check = steps.findIndex(({ run }) => run === ".github/actions/deploy/stop-if-outdated.sh");
    expect(check).toBeGreaterThan(0);
    expect(check).toBeLessThan(steps.findIndex(({ uses }) => uses?.includes("credentials")));
  }
});

test("pull requests and the search for drift use the environments that can only read, and change nothing", () => {
  for (const name of ["preview", "drift"] as const) {
    for (const { environment, steps = [] } of Object.values(workflow(name).jobs)) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of the workflow
      if (environment !== undefined) expect(environment).toBe("preview-${{ matrix.stack }}");
      expect(steps.filter(({ run }) => /pulumi (up|refresh|destroy)/.test(run ?? ""))).toEqual([]);
    }
  }
  expect(read("workflows/drift.yml")).toContain("preview --refresh --expect-no-changes");
});

test("a tag is released after the tests and one approval, and only the approved jobs have an identity or write", () => {
  const { jobs, on } = workflow("release");
  expect(on).toEqual({ push: { tags: ["v*"] } });
  expect(Object.entries(jobs).map(([name, { needs, environment }]) => [name, needs, environment])).toEqual([
    ["check", undefined, undefined],
    ["build", "check", undefined],
    ["package", "build", "release"],
    ["image", "package", undefined],
    ["notes", "image", undefined],
  ]);
  expect(secretsIn(jobs)).toBe(false);
  const before = [jobs["check"], jobs["build"]].map((job) => job?.permissions);
  expect(before).toEqual([{ contents: "read" }, { contents: "read" }]);
});

test("the job that publishes the package runs no code of the project or of a dependency, and has no token", () => {
  const { permissions, steps = [] } = workflow("release").jobs["package"] ?? {};
  expect(permissions).toEqual({ "id-token": "write" });
  const commands = steps.flatMap(({ run }) => run ?? []);
  expect(commands).toEqual([
    "npm publish ./store-orders-*.tgz --provenance --access public --ignore-scripts",
  ]);
  expect(steps.filter(({ uses }) => /checkout|\/install$/.test(uses ?? ""))).toEqual([]);
});

test("what is released was built without a cache, which another workflow could have written", () => {
  for (const { steps = [] } of Object.values(workflow("release").jobs)) {
    const installs = steps.filter(({ uses }) => uses?.startsWith("actions/setup-node@"));
    for (const step of installs)
      expect(step.with).toEqual({ "node-version": 24, "package-manager-cache": false });
    expect(steps.filter(({ uses }) => uses?.includes("/cache@"))).toEqual([]);
  }
});

test("a deployment is tested after the update", () => {
  const { runs } = parse(read("actions/deploy/action.yml")) as { runs: { steps: Step[] } };
  expect(runs.steps.map(({ name }) => name)).toEqual(["Update", "Test"]);
});
