import { vi } from "vitest";
import { EMULATED } from "./emulator.ts";

/** Sets the environment from which a store creates its client. `vi.unstubAllEnvs()` undoes it. */
export function pointTo(endpoint: string): void {
  vi.stubEnv("AWS_ENDPOINT_URL", endpoint);
  vi.stubEnv("AWS_REGION", EMULATED.region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", EMULATED.credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", EMULATED.credentials.secretAccessKey);
}
