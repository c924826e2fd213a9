import { startChild } from "../../support/child.ts";

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Program {
  readonly file: string | URL;
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The flags of Node. @default none */
  readonly flags?: readonly string[];
}

/** As `npm start`, the container and the systemd unit start the server. */
export const START_FLAGS = ["--max-semi-space-size=4"];

export async function start({ file, arguments: args, environment, flags }: Program): Promise<RunningServer> {
  const child = startChild(file, args, environment, flags);
  const { port } = await child.nextMessage<{ readonly port: number }>();
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, stop: child.end };
}
