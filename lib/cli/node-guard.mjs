// Plain JavaScript, because an older Node cannot parse the rest of the project. The build defines SUPPORTED_NODE for the
// package; the sources need the Node that the project installs.
const required = typeof SUPPORTED_NODE === "string" ? SUPPORTED_NODE : "24.0";
const [[major, minor], [requiredMajor, requiredMinor]] = [process.versions.node, required].map((version) =>
  version.split(".").map(Number),
);
if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  process.stderr.write(
    `store-orders needs Node ${required.replace(".0", "")} or newer; this is ${process.version}. ` +
      "Install Node 24 from https://nodejs.org. " +
      "In the repository, 'npm ci' installs it for 'npm run' and 'npx' on Linux (x64, arm64) and Windows (x64).\n",
  );
  process.exit(2);
}
