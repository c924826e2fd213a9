/**
 * What servers need of `node:http`. An `import` of that module reads all of its exports, and one of them loads
 * Node's `fetch`: 13 MiB and 30 ms that no request needs.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule("node:http");
