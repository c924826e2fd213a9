import * as pulumi from "@pulumi/pulumi";

/**
 * A hook that explains why a resource could not be created. None under `pulumi.runtime.setMocks`, which has no engine
 * that could call it, and fails on registering one.
 */
export function explainOnError(name: string, callback: pulumi.ErrorHookFunction): pulumi.ErrorHook[] {
  const monitor = pulumi.runtime.getMonitor();
  const isMocked = monitor !== undefined && !("registerErrorHook" in monitor);
  return isMocked ? [] : [new pulumi.ErrorHook(name, callback)];
}
