import { connect } from "node:net";

/** Sends bytes to a port of this machine, and returns everything until the connection ends. */
export function sendRaw(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    connect(port, "127.0.0.1")
      .on("data", (part) => parts.push(part))
      .on("error", reject)
      .on("close", () => resolve(Buffer.concat(parts).toString("latin1")))
      .write(request, "latin1");
  });
}
