import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ROOT } from "./markdown.ts";

describe("the scripts of the pipeline", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-pipeline-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const script = (path: string) => join(ROOT, ".github/actions", path);
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const archive = "the archive";
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const tool = (name: string, text: string) => {
    writeFileSync(join(folder, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  tool("curl", `while [ $# -gt 1 ]; do [ "$1" = -o ] && file=$2; shift; done; printf '${archive}' >"$file"`);
  // Unpacks a command line that repeats what it is called with.
  const CLI = `printf '#!/bin/sh\\necho "pulumi $*"; exit $((STATUS))\\n' >"$bin/pulumi"; chmod +x "$bin/pulumi"`;
  tool("tar", `echo "tar $*"; bin="\${@: -1}"; ${CLI}`);
  tool("gh", 'echo "$NEWEST"');
  const run = (name: string, args: readonly string[], env: Readonly<Record<string, string>>) => {
    const home = mkdtempSync(join(folder, "home-"));
    const PATH = `${folder}:${process.execPath.replace(/\/[^/]*$/, "")}:/usr/bin:/bin`;
    const options = { cwd: ROOT, encoding: "utf8", env: { PATH, HOME: home, ...env } } as const;
    return spawnSync("bash", [script(name), ...args], options);
  };
  const checksums = { CLI_SHA256: sha256, AWS_SHA256: sha256, CLOUDFLARE_SHA256: sha256 };

  test("Pulumi and both providers are installed in the versions of package.json", () => {
    const { status, stdout } = run("install/install.sh", [], checksums);
    expect(status).toBe(0);
    expect(stdout).toContain(`pulumi-v${devDependencies.pulumi}-linux-x64.tar.gz --strip-components=1`);
    for (const name of ["aws", "cloudflare"])
      expect(stdout).toContain(
        `plugin install resource ${name} ${devDependencies[`@pulumi/${name}`]} --file`,
      );
  });

  test.each(["CLI_SHA256", "AWS_SHA256", "CLOUDFLARE_SHA256"])(
    "nothing is installed if the archive of %s is another one, or its checksum is not set",
    (name) => {
      for (const wrong of ["0".repeat(64), ""]) {
        const { status, stdout } = run("install/install.sh", [], { ...checksums, [name]: wrong });
        expect(status).not.toBe(0);
        expect(stdout).not.toMatch(/^(tar|pulumi)/m);
      }
    },
  );

  test("without the command line, nothing is downloaded in its place", () => {
    tool("npx", "echo downloading");
    const env = { GITHUB_OUTPUT: join(folder, "nothing"), RUNNER_TEMP: folder };
    const { status, stdout } = run("install/preview.sh", ["staging"], env);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^The Pulumi CLI [\d.]+ is not installed: .* See infra\/README\.md#deploy\.\n$/);
  });

  test.each(["0", "255"])(
    "a preview that exits with %s passes its text on and exits with the same status",
    (status) => {
      const output = join(folder, `output-${status}`);
      const PULUMI_HOME = join(folder, "pulumi");
      const bin = join(PULUMI_HOME, "versions", devDependencies.pulumi, "bin");
      mkdirSync(bin, { recursive: true });
      spawnSync("bash", ["-c", CLI], { env: { PATH: process.env["PATH"], bin } });
      const env = { GITHUB_OUTPUT: output, RUNNER_TEMP: folder, STATUS: status, PULUMI_HOME };
      const result = run("install/preview.sh", ["staging"], env);
      expect(result.status).toBe(Number(status));
      const [first = "", text, , last] = readFileSync(output, "utf8").split("\n");
      expect(text).toContain("pulumi preview --stack staging");
      expect(first).toBe(`staging<<${last}`);
    },
  );

  test.each([
    ["v1.2.3", ["v1.2.2", "v1.2.3", "v2.0.0-rc.1"], ["1.2.3", "latest"]],
    ["v1.10.0", ["v1.9.9", "v1.10.0"], ["1.10.0", "latest"]],
    ["v1.2.4", ["v1.2.4", "v2.0.0"], ["1.2.4"]],
    ["v2.0.0-rc.1", ["v1.2.3", "v2.0.0-rc.1"], ["2.0.0-rc.1"]],
    ["v1.0.0-rc.1", ["v1.0.0-rc.1"], ["1.0.0-rc.1"]],
  ])(
    "the image of %s, beside the tags %j, is built for both architectures as %j, and its digest is passed on",
    (tag, tags, names) => {
      rmSync(join(folder, "image-output"), { force: true });
      tool("git", `printf '%s\\n' ${tags.join(" ")}`);
      const output = join(folder, "image-output");
      const metadata = '{"containerimage.digest":"sha256:abc"}';
      tool("sudo", 'echo "sudo $*"');
      tool("docker", `echo "docker $*"; [ "$2" != build ] || echo '${metadata}' >"$RUNNER_TEMP/image.json"`);
      const env = {
        ...{ GH_TOKEN: "secret", GITHUB_ACTOR: "someone", GITHUB_REPOSITORY: "Shop/orders" },
        ...{ GITHUB_OUTPUT: output, RUNNER_TEMP: folder },
      };
      const { status, stdout } = run("release/image.sh", [tag], env);
      expect(status).toBe(0);
      const [, build] = /docker buildx (build .*)/.exec(stdout) ?? [];
      for (const part of [
        "--platform linux/amd64,linux/arm64 --sbom=true --provenance=mode=max",
        `${names.map((name) => `--tag ghcr.io/shop/orders:${name}`).join(" ")} --metadata-file`,
        "--push",
      ])
        expect(build).toContain(part);
      expect(stdout).not.toContain("secret");
      expect(readFileSync(output, "utf8")).toBe("name=ghcr.io/shop/orders\ndigest=sha256:abc\n");
    },
  );

  test.each([
    ["an earlier run has", "41", 0],
    ["it has been deployed before", "42", 0],
    ["nothing has", "0", 0],
    ["a later run has", "43", 1],
  ])("a commit is deployed to production unless a newer one is: %s", (_case, NEWEST, status) => {
    const env = { NEWEST, GITHUB_RUN_NUMBER: "42", GITHUB_REPOSITORY: "shop/orders" };
    const result = run("deploy/stop-if-outdated.sh", [], env);
    expect(result.status).toBe(status);
    if (status === 1) expect(result.stdout).toContain("Run 43 has deployed a newer commit.");
  });
});
