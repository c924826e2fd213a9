import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { listenOn } from "../../support/free-port.ts";

/** An endpoint over TLS in front of a local one, with a chain of three certificates, as that of DynamoDB is. */
export async function startTls(folder: string, target: string) {
  const certificate = (name: string, issuer: string, extension: string) => {
    const file = (suffix: string) => join(folder, `${name}.${suffix}`);
    writeFileSync(file("ext"), extension);
    const request = ["-newkey", "rsa:2048", "-nodes", "-keyout", file("key"), "-subj", `/CN=${name}`];
    openssl(["req", "-new", ...request, "-out", file("csr")]);
    const signed =
      issuer === name
        ? ["-signkey", file("key")]
        : ["-CA", join(folder, `${issuer}.pem`), "-CAkey", join(folder, `${issuer}.key`), "-CAcreateserial"];
    const output = ["-days", "30", "-extfile", file("ext"), "-in", file("csr"), "-out", file("pem")];
    openssl(["x509", "-req", ...signed, ...output]);
    return readFileSync(file("pem"), "utf8");
  };
  const root = certificate("root", "root", "basicConstraints=critical,CA:TRUE");
  const middle = certificate("middle", "root", "basicConstraints=critical,CA:TRUE");
  const leaf = certificate("leaf", "middle", "subjectAltName=IP:127.0.0.1");
  const { port: targetPort } = new URL(target);
  const key = readFileSync(join(folder, "leaf.key"));
  const server = createServer({ key, cert: leaf + middle + root }, (socket) => {
    const upstream = connect(Number(targetPort), "127.0.0.1");
    for (const each of [socket, upstream])
      each.on("error", () => [socket, upstream].map((end) => end.destroy()));
    socket.pipe(upstream).pipe(socket);
  });
  const port = await listenOn(server);
  return {
    environment: {
      AWS_ENDPOINT_URL: `https://127.0.0.1:${port}`,
      NODE_EXTRA_CA_CERTS: join(folder, "root.pem"),
    },
    stop: () => server.close(),
  };
}

function openssl(args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
