// Plain JavaScript, because an older Node cannot parse the rest of the project.
const required = 24;
if (Number.parseInt(process.versions.node, 10) < required) {
  process.stderr.write(
    `store-orders needs Node ${required} or newer; this is ${process.version}. ` +
      "Run it through npm after `npm ci`, which installs Node 24 (unless install scripts are disabled).\n",
  );
  process.exit(1);
}
