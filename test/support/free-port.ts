import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** Above 10080, which `fetch` refuses, and below those that a system gives to outgoing connections (from 32768 on Linux), which would soon take it and hold it for a minute after their end. */
const [FIRST_PORT, AFTER_LAST_PORT] = [10_100, 32_768];
const MAX_ATTEMPTS = 10;

/** A port for a server that cannot choose one itself: free at each address of this machine, in TCP and UDP. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FIRST_PORT, AFTER_LAST_PORT);
    const [tcp, udp] = [createServer(), createSocket("udp4")];
    try {
      await once(tcp.listen(port), "listening");
      await once(udp.bind(port, "0.0.0.0"), "listening");
      return port;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
    } finally {
      if (tcp.listening) await once(tcp.close(), "close");
      await once(udp.close(), "close");
    }
  }
}

/** Lets a server listen on a port of this machine that the system chooses, and returns it. */
export async function listenOn(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}
