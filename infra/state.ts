import { setTimeout } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { currentRun, type StateOutputs } from "./claims.ts";

/**
 * The state of the stack before the present run. Only for an update: in a preview, Pulumi's engine cannot read the state
 * of a stack that has none yet.
 */
export function stateBefore(): Promise<StateOutputs> {
  const run = currentRun();
  // Once, because the engine writes the state whenever it has created something.
  run.stateBefore ??= readState();
  return run.stateBefore;
}

async function readState(attempts = 20): Promise<StateOutputs> {
  const stackName = [pulumi.getOrganization(), pulumi.getProject(), pulumi.getStack()].join("/");
  try {
    return (await pulumi.runtime.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName })).outputs;
  } catch (error) {
    // In a folder, the engine writes the state in several steps, and cannot read it between them.
    if (attempts === 1 || !/EOF|unexpected end/.test(String(error))) throw error;
    await setTimeout(RETRY_MS);
    return readState(attempts - 1);
  }
}

const RETRY_MS = 100;
