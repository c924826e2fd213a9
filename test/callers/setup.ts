import { fileURLToPath } from "node:url";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

/** Installs the clients of npm. */
export default function setup(): void {
  installPackages(fileURLToPath(new URL(".", import.meta.url)), homeOfPackages("callers"));
}
