// Plain JavaScript, because an older Node cannot parse the rest of the project.
const required = 24;
if (Number.parseInt(process.versions.node, 10) < required) {
  process.stderr.write(
    `store-orders needs Node ${required} or newer; this is ${process.version}. ` +
      `Install Node ${required} from https://nodejs.org. ` +
      "In the repository, 'npm ci' installs it for 'npm run' and 'npx' on Linux (x64, arm64) and Windows (x64).\n",
  );
  process.exit(1);
}
