/** A client that sends bytes unchanged. */
import { connect } from "node:net";
import { type ParsedResponse, type ParsedResponses, parseResponses } from "./raw-responses.ts";

/** Opens a connection. `methods` are those of the requests in order; they are needed if one is `HEAD`. */
export function openSocket(url: string, methods: readonly string[] = []) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay();
  const responses: ParsedResponse[] = [];
  let rest = "";
  let ended = false;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();

  function parse(): void {
    try {
      const turn = responses.filter(({ status }) => status >= 200).length;
      const parsed = parseResponses(rest, methods.slice(turn), ended);
      responses.push(...parsed.responses);
      rest = parsed.rest;
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      socket.destroy();
    }
    for (const wake of [...waiting]) wake();
  }
  socket.setEncoding("latin1").on("data", (more: string) => {
    rest += more;
    parse();
  });
  // A reset also ends a connection.
  socket
    .on("error", () => {})
    .on("close", () => {
      ended = true;
      parse();
    });

  function until(isReached: () => boolean): Promise<ParsedResponses> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        if (failure === undefined && !ended && !isReached()) return;
        waiting.delete(wake);
        if (failure === undefined) resolve({ responses, rest });
        else reject(failure);
      };
      waiting.add(wake);
      wake();
    });
  }

  return {
    socket,
    send: (bytes: string) => void socket.write(bytes, "latin1"),
    /** Resolves when that many responses have been received, or the connection has ended. */
    responses: (count: number) => until(() => responses.length >= count),
    /** Resolves when the connection has ended, with everything received. */
    closed: () => until(() => false),
  };
}

export type RawConnection = ReturnType<typeof openSocket>;
