/** A connection of the load generator: one request at a time, and no more work than that takes. */
import { connect } from "node:net";

/** How a request ended. */
export interface Reply {
  /** 0 where the connection ended without an answer. */
  readonly status: number;
  /** True where the server closes the connection after it. */
  readonly last: boolean;
}

export interface ClientConnection {
  /** Sends a whole request; the one before has to be answered. */
  send(bytes: string): Promise<Reply>;
  close(): void;
}

/** Opens a connection. Rejects where the server takes none. */
export function openConnection(url: URL): Promise<ClientConnection> {
  return new Promise((opened, refused) => {
    const socket = connect(Number(url.port), url.hostname).setNoDelay().setEncoding("latin1");
    let text = "";
    let isOver = false;
    let answer: (reply: Reply) => void = () => {};

    socket.on("data", (more: string) => {
      text += more;
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) return;
      const head = text.slice(0, end);
      if (/\r\ntransfer-encoding:/i.test(head)) throw new Error("The generator reads no chunks.");
      const whole = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (text.length < whole) return;
      text = text.slice(whole);
      answer({ status: Number(head.slice(9, 12)), last: /\r\nconnection: close/i.test(head) });
    });
    socket.on("error", refused);
    socket.on("close", () => {
      isOver = true;
      answer({ status: 0, last: true });
    });
    socket.on("connect", () =>
      opened({
        send: (bytes) =>
          new Promise((resolve) => {
            answer = resolve;
            if (isOver) resolve({ status: 0, last: true });
            else socket.write(bytes);
          }),
        close: () => void socket.destroy(),
      }),
    );
  });
}
