/** A client that sends bytes as they are. */
import { connect, type Socket } from "node:net";
import { type Answers, cutAnswers, type Reply } from "./raw-responses.ts";

/** One connection to a server. */
export interface RawConnection {
  readonly socket: Socket;
  send(bytes: string): void;
  /** Resolves when that many answers are there, or the connection has ended. */
  answers(count: number): Promise<Answers>;
  /** Resolves when the connection has ended, with all that came. */
  closed(): Promise<Answers>;
}

/** Opens a connection. Of requests that are `HEAD`, the methods have to be told, in turn. */
export function openSocket(url: string, methods: readonly string[] = []): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay();
  const answers: Reply[] = [];
  let rest = "";
  let ended = false;
  let fault: Error | undefined;
  const waiting = new Set<() => void>();

  function look(): void {
    try {
      const turn = answers.filter(({ status }) => status >= 200).length;
      const cut = cutAnswers(rest, methods.slice(turn), ended);
      answers.push(...cut.answers);
      rest = cut.rest;
    } catch (error) {
      fault = error instanceof Error ? error : new Error(String(error));
      socket.destroy();
    }
    for (const wake of [...waiting]) wake();
  }
  socket.setEncoding("latin1").on("data", (more: string) => {
    rest += more;
    look();
  });
  // A reset is one way for a connection to end.
  socket
    .on("error", () => {})
    .on("close", () => {
      ended = true;
      look();
    });

  function until(isThere: () => boolean): Promise<Answers> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        if (fault === undefined && !ended && !isThere()) return;
        waiting.delete(wake);
        if (fault === undefined) resolve({ answers, rest });
        else reject(fault);
      };
      waiting.add(wake);
      wake();
    });
  }

  return {
    socket,
    send: (bytes) => void socket.write(bytes, "latin1"),
    answers: (count) => until(() => answers.length >= count),
    closed: () => until(() => false),
  };
}
