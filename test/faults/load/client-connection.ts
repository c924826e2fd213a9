/** A connection of the load generator: one request at a time, with as little work as possible. */
import { connect } from "node:net";

/** How a request ended. */
export interface ConnectionResult {
  /** 0 if the connection ended without a response. */
  readonly status: number;
  /** True if the server closes the connection after it. */
  readonly last: boolean;
}

export interface ClientConnection {
  /** Sends a whole request. The previous one must have its response. */
  send(bytes: string): Promise<ConnectionResult>;
  close(): void;
}

/** Opens a connection. Rejects if the server accepts none. */
export function openConnection(url: URL): Promise<ClientConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname).setNoDelay().setEncoding("latin1");
    let text = "";
    let isClosed = false;
    let settle: (reply: ConnectionResult) => void = () => {};

    socket.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) return;
      const head = text.slice(0, end);
      if (/\r\ntransfer-encoding:/i.test(head)) throw new Error("The generator reads no chunks.");
      const whole = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (text.length < whole) return;
      text = text.slice(whole);
      settle({ status: Number(head.slice(9, 12)), last: /\r\nconnection: close/i.test(head) });
    });
    socket.on("error", reject);
    socket.on("close", () => {
      isClosed = true;
      settle({ status: 0, last: true });
    });
    socket.on("connect", () =>
      resolve({
        send: (bytes) =>
          new Promise((resolve) => {
            settle = resolve;
            if (isClosed) resolve({ status: 0, last: true });
            else socket.write(bytes);
          }),
        close: () => void socket.destroy(),
      }),
    );
  });
}
