import { expect, test } from "vitest";
import { createListener, strangersKey } from "./listener.ts";

test("the listener finds a key and a part of a key", () => {
  const own = createListener();
  const key = own.keep(strangersKey());
  own.hear("a log", `with ${key} in it`);
  own.hear("a name", key.slice(-38));
  own.hear("nothing", key.slice(0, -38));
  expect(own.leaks()).toEqual(["a log: a key", "a name: a key"]);
});
