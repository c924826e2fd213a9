/** The proxy configurations that ship, changed for a folder and free ports. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "./find-program.ts";

/** The host of the shipped configurations. */
export const HOST = "orders.example.com";

const deploy = new URL("../../lib/node/deploy/", import.meta.url);
const shipped = (name: string) => readFileSync(new URL(name, deploy), "utf8");

interface Proxy {
  readonly name: string;
  /** An order that only this proxy cancels, percent-encoded. */
  readonly order: string;
  readonly program: string | undefined;
  readonly validate: readonly string[];
  readonly run: readonly string[];
  readonly ready: RegExp;
  /** Writes the shipped configuration into a folder, for its certificate and these ports. */
  configure(
    folder: string,
    ports: { readonly service: number; readonly http: number; readonly https: number },
  ): void;
}

export const NGINX: Proxy = {
  name: "nginx",
  order: "%37",
  program: findProgram("nginx", "nginx-light"),
  validate: ["-t", "-c", "nginx.conf", "-p", "."],
  run: ["-c", "nginx.conf", "-p", "."],
  ready: /start worker process/,
  configure(folder, { service, http, https }) {
    const inFolder = (name: string) => join(folder, name);
    const site = shipped("nginx.conf")
      .replaceAll("127.0.0.1:8787", `127.0.0.1:${service}`)
      .replaceAll(`/etc/letsencrypt/live/${HOST}/`, `${folder}/`)
      .replaceAll(/listen (\[::\]:)?80\b/g, `listen $1${http}`)
      .replaceAll(/listen (\[::\]:)?443/g, `listen $1${https}`);
    writeFileSync(inFolder("site.conf"), site);
    // What Debian's nginx.conf has around a site.
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${inFolder(`nginx-${name}`)};`)
      .join(" ");
    writeFileSync(
      inFolder("nginx.conf"),
      `daemon off; pid ${inFolder("nginx.pid")}; error_log stderr notice; events {}
       http { access_log off; ${temporary} gzip on; sendfile on; include ${inFolder("site.conf")}; }`,
    );
    // The workers of nginx are another user.
    chmodSync(folder, 0o755);
  },
};

/** Writes the shipped Caddyfile, for these ports. Its certificate is in two files, or Caddy issues one per host on demand. */
export function configureCaddy(
  folder: string,
  ports: {
    readonly service: number;
    readonly http: number;
    readonly https: number;
    readonly metrics?: number;
  },
  certificates: "files" | "on_demand",
): void {
  const inFolder = (name: string) => join(folder, name);
  const options = [
    "admin off",
    `http_port ${ports.http}`,
    `https_port ${ports.https}`,
    `storage file_system ${inFolder("caddy")}`,
    ...(certificates === "files" ? [] : ["local_certs", "skip_install_trust"]),
  ];
  const files = `\ttls ${inFolder("fullchain.pem")} ${inFolder("privkey.pem")}\n`;
  const site = shipped("Caddyfile")
    .replace("\n{\n", `\n{\n${options.map((option) => `\t${option}\n`).join("")}`)
    .replaceAll("127.0.0.1:8787", `127.0.0.1:${ports.service}`)
    .replaceAll("127.0.0.1:9464", `127.0.0.1:${ports.metrics ?? 9}`);
  const onDemand = "\ttls {\n\t\ton_demand\n\t}\n";
  writeFileSync(inFolder("Caddyfile"), certificates === "files" ? site.replace(onDemand, files) : site);
}

export const CADDY: Proxy = {
  name: "Caddy",
  order: "%38",
  program: findProgram("caddy"),
  validate: ["validate", "--config", "Caddyfile", "--adapter", "caddyfile"],
  run: ["run", "--config", "Caddyfile", "--adapter", "caddyfile"],
  ready: /serving initial configuration/,
  configure: (folder, ports) => configureCaddy(folder, ports, "files"),
};
