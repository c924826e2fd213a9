// Plain JavaScript on purpose: an older Node cannot even parse the rest of the project.
const wanted = 24;
if (Number.parseInt(process.versions.node, 10) < wanted) {
  process.stderr.write(
    `store-orders needs Node ${wanted} or newer; this is ${process.version}. ` +
      "Run it through npm after `npm ci` (which brings Node 24 with it, unless scripts were disabled).\n",
  );
  process.exit(1);
}
