/**
 * Runs the Pulumi CLI where `npx pulumi` looks for it, on the project's Node. If it is missing there, `npx pulumi` downloads
 * an install script and runs it, with all credentials of the environment: this fails instead.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const version = JSON.parse(readFileSync("package.json", "utf8")).devDependencies.pulumi;
const folder = join(process.env["PULUMI_HOME"] || join(homedir(), ".pulumi"), "versions", version, "bin");
const cli = join(folder, process.platform === "win32" ? "pulumi.exe" : "pulumi");
try {
  accessSync(cli, constants.X_OK);
} catch {
  process.stderr.write(
    `The Pulumi CLI ${version} is not installed: there is no ${cli}. See infra/README.md#deploy.\n`,
  );
  process.exit(1);
}
// Its language hosts are beside it.
const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
const { status, error } = spawnSync(cli, process.argv.slice(2), { stdio: "inherit", env });
if (error) process.stderr.write(`Cannot run ${cli}: ${error.message}\n`);
process.exitCode = status ?? 1;
