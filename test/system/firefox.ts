import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts Firefox without a window, driven with WebDriver BiDi (https://w3c.github.io/webdriver-bidi): Playwright needs a Firefox of its own. */
export async function startFirefox(program: string) {
  const profile = mkdtempSync(join(tmpdir(), "store-orders-firefox-"));
  // No background traffic.
  const settings = [
    "app.update.auto",
    "browser.safebrowsing.update.enabled",
    "network.captive-portal-service.enabled",
  ];
  const lines = settings.map((name) => `user_pref("${name}", false);\n`);
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const args = ["--headless", "--no-remote", "--profile", profile];
  args.push("--remote-debugging-port", "0", "about:blank");
  const child = spawn(program, args, {
    env: { ...process.env, HOME: profile },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const socket = new WebSocket(`${await addressOf(child)}/session`);
  await once(socket, "open");
  const waiting = new Map<number, (message: { error?: string; message?: string; result: unknown }) => void>();
  const faults: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(`${data}`);
    if (message.method === "log.entryAdded" && message.params.level === "error")
      faults.push(message.params.text);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let sent = 0;
  const send = async <T>(method: string, params: object): Promise<T> => {
    const id = ++sent;
    const answer = new Promise<{ error?: string; message?: string; result: unknown }>((resolve) => {
      waiting.set(id, resolve);
    });
    socket.send(JSON.stringify({ id, method, params }));
    const { error, message, result } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error}: ${message}`);
    return result as T;
  };
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await send<{ contexts: { context: string }[] }>("browsingContext.getTree", {});
  const context = contexts[0]?.context;

  const run = async (expression: string) => {
    const { result, exceptionDetails } = await send<{
      result: { value?: string; sharedId?: string };
      exceptionDetails?: { text: string };
    }>("script.evaluate", { expression, target: { context }, awaitPromise: true });
    if (exceptionDetails !== undefined) throw new Error(`${exceptionDetails.text}: ${expression}`);
    return result;
  };
  /** Evaluates an expression, awaits its value, and returns it by way of JSON. */
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { value } = await run(`(async () => JSON.stringify((await (${expression})) ?? null))()`);
    return JSON.parse(value ?? "null") as T;
  };
  /** Waits until an expression is true. Reports the text of the page if it is not in ten seconds. */
  const until = async (expression: string) => {
    for (const deadline = Date.now() + 30_000; !(await evaluate<boolean>(expression).catch(() => false)); ) {
      if (Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
      else throw new Error(`${expression} is not true of: ${await evaluate("document.body.innerText")}`);
    }
  };
  return {
    /** Errors of scripts, and what the content security policy has blocked. */
    faults,
    evaluate,
    until,
    open: (url: string) => send("browsingContext.navigate", { context, url, wait: "complete" }),
    /** Clicks on the first visible element for a selector, whose text begins so. */
    async click(selector: string, text = "") {
      const found = `[...document.querySelectorAll(${JSON.stringify(selector)})].find((each) =>
        each.checkVisibility() && each.textContent.trim().startsWith(${JSON.stringify(text)}))`;
      await until(`${found} !== undefined`);
      const { sharedId } = await run(
        `(() => { const it = ${found}; it.scrollIntoView({ block: "center" }); return it; })()`,
      );
      const origin = { type: "element", element: { sharedId } };
      const pointer = [
        { type: "pointerMove", x: 0, y: 0, origin },
        { type: "pointerDown", button: 0 },
        { type: "pointerUp", button: 0 },
      ];
      await send("input.performActions", {
        context,
        actions: [{ type: "pointer", id: "mouse", actions: pointer }],
      });
    },
    /** Presses and releases keys. Without a window, Firefox has no focus: fields take keys, but buttons ignore them. `\uE004` is Tab, `\uE006` Enter and `\uE00C` Escape. */
    async type(keys: string) {
      const actions = [...keys].flatMap((value) => [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ]);
      await send("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions }] });
    },
    async close() {
      socket.close();
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export type FirefoxPage = Awaited<ReturnType<typeof startFirefox>>;

async function addressOf({ stderr }: ChildProcess): Promise<string> {
  let log = "";
  for await (const chunk of stderr ?? []) {
    log += chunk;
    const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(log) ?? [];
    if (address === undefined) continue;
    stderr?.resume();
    return address;
  }
  throw new Error(`Firefox ended: ${log}`);
}
