import { fork } from "node:child_process";
import { once } from "node:events";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";

/** Starts dynalite in a separate process. `all-old` returns the old item of a failed condition, as AWS does. */
export async function startEmulator(
  oldItems: "as-is" | "all-old",
  { port = 0, directory }: { port?: number; directory?: string } = {},
) {
  const program = new URL("emulator-process.ts", import.meta.url);
  const child = fork(program, [oldItems, String(port), ...(directory === undefined ? [] : [directory])]);
  const listening = await Promise.race([once(child, "message"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error(`The emulator exited with ${child.exitCode}.`);
  // It does not keep this process alive, with which it ends.
  child.unref();
  child.channel?.unref();
  const [chosen] = listening as [number];
  return {
    endpoint: `http://127.0.0.1:${chosen}`,
    port: chosen,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.ref();
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export type Emulator = Awaited<ReturnType<typeof startEmulator>>;

/** Region and credentials for an emulator, which accepts any. */
export const EMULATED = {
  region: "eu-central-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
} as const satisfies DynamoDBClientConfig;

/** The environment of a process whose AWS clients use an emulator. */
export const environmentFor = (endpoint: string) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: EMULATED.region,
  AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
});

/** A client for an endpoint, by default with the timeouts and retries of the AWS client. */
export function clientFor(endpoint: string, settings: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({ ...EMULATED, endpoint, ...settings });
}
