/**
 * Runs programs one after another in one process, as Pulumi's Automation API does, so that the SDKs are loaded once. It
 * ends once nobody sends programs any more and the last one has nothing left to do, as under the language host.
 */
import { createRequire, registerHooks } from "node:module";
import { Resource } from "@pulumi/pulumi";
import language from "@pulumi/pulumi/proto/language_pb.js";
import type { ProgramRun } from "./program.ts";

// Their declarations have no types.
const require = createRequire(import.meta.url);
const { LanguageServer } = require("@pulumi/pulumi/automation/server.js");
const { getStore } = require("@pulumi/pulumi/runtime/state.js");

// Each resource would collect a stack trace, with the place of every call in the sources.
Object.assign(Resource, { stackTrace: () => [] });

let runs = 0;

// A program registers its resources while it is loaded, so each run loads it again, also behind the entry for Pulumi.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return specifier === "./program.ts"
      ? { ...found, url: found.url + new URL(context.parentURL ?? "").search }
      : found;
  },
});

/** What a failed run leaves pending can fail after its end. */
process.on("unhandledRejection", () => {});
process.on("disconnect", () => setTimeout(() => process.exit(), 10_000).unref());
process.on("message", async ({ main, engine, kind, config, secretKeys }: ProgramRun) => {
  const request = new language.RunRequest();
  request.setProject(kind.project);
  request.setStack(kind.stack);
  request.setOrganization("shop");
  request.setParallel(32);
  request.setDryrun(kind.preview);
  request.setMonitorAddress(engine);
  request.setArgsList([engine]);
  request.setConfigsecretkeysList([...secretKeys]);
  for (const [key, value] of Object.entries(config)) request.getConfigMap().set(key, value);
  process.env["PULUMI_CONFIG_SECRET_KEYS"] = JSON.stringify(secretKeys);
  const url = `${main}?run=${++runs}`;
  const load = async () => {
    // The folder of Pulumi.yaml, which the language host passes on.
    getStore().settings.options.rootDirectory = process.cwd();
    // Hooks are called from outside of the run, and log to its engine only then.
    Object.assign(globalThis, { globalStore: getStore() });
    const exported = await import(url);
    return exported.default ?? { ...exported };
  };
  const error = await new Promise<unknown>((resolve) => {
    new LanguageServer(load).run({ request }, (failure: unknown) => resolve(failure));
  });
  process.send?.(error ? 1 : 0);
});
