import { expect, test } from "vitest";
import { listenOn, readListenAddress } from "../../lib/cli/listen.ts";

test("an address that cannot be listened on is named as it can be used: IPv6 in brackets", async () => {
  const flags = "--host, --port";
  const start = async () => {
    throw Object.assign(new Error(), { code: "EADDRINUSE" });
  };
  await expect(listenOn({ host: "::1", port: 8787 }, flags, start)).rejects.toThrow(
    /^\[::1\]:8787 is already/,
  );
  await expect(listenOn({ host: "::", port: 80 }, flags, start)).rejects.toThrow(/^\[::\]:80 is already/);
  await expect(listenOn({ host: "localhost", port: 1 }, flags, start)).rejects.toThrow(/^localhost:1 is/);
});

test.each([
  ["EADDRINUSE", "address_unavailable", /is already in use/],
  ["EADDRNOTAVAIL", "address_unavailable", /is not an address of this machine/],
  ["ENOTFOUND", "address_unavailable", /is not a known host/],
  ["EAI_AGAIN", "address_unavailable", /is not a known host/],
  ["ENOBUFS", "address_unavailable", /cannot be listened on \(ENOBUFS\)/],
  ["EACCES", "invalid_input", /requires elevated privileges/],
])("%s is an error of the kind %s", async (systemCode, code, message) => {
  const start = () => Promise.reject(Object.assign(new Error(), { code: systemCode }));
  const listening = listenOn({ host: "::1", port: 80 }, "--metrics", start);
  await expect(listening).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test("an IPv6 address to listen on can be written in brackets, and none as from an unset variable is an error", () => {
  expect(readListenAddress({ host: "[::1]", port: 0 }, {})).toEqual({ host: "::1", port: 0 });
  expect(readListenAddress({}, { HOST: "[::]", PORT: "80" })).toEqual({ host: "::", port: 80 });
  expect(() => readListenAddress({ host: "" }, {})).toThrow("--host: The host is empty. Use 127.0.0.1");
});
