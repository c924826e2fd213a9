import * as pulumi from "@pulumi/pulumi";

/**
 * True under the mocks of a unit test. They have no engine, and those of Pulumi's documentation return the inputs alone:
 * whatever a provider adds is undefined, which its types do not say.
 */
export function isMocked(): boolean {
  const monitor = pulumi.runtime.getMonitor();
  return monitor !== undefined && !("registerErrorHook" in monitor);
}
