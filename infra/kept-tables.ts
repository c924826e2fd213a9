import * as pulumi from "@pulumi/pulumi";
import { currentRun, type StateOutputs } from "./claims.ts";
import { isMocked } from "./mocks.ts";
import { typeToken } from "./names.ts";
import { stateBefore } from "./state.ts";

/** Part of the state of every stack, so it must not change: Pulumi refuses to delete what has a hook of another name. */
const KEEP_TABLES = "store-orders: protected tables, see infra/recovery.md#rename-import-restore";

/**
 * Stops a run before it deletes a protected table or replaces it by an empty one. Pulumi's own protection would, too, but only
 * advises to remove it. If a program does not register the hook, its name in the state is all that Pulumi says: so it is the
 * same for all tables, and says what to read.
 */
export function keepTables(): pulumi.ResourceHook[] {
  if (pulumi.runtime.getMonitor() === undefined || isMocked()) return [];
  const hook = new pulumi.ResourceHook(KEEP_TABLES, refuseDeletion, { onDryRun: true });
  // Not in the typings. A resource waits for the registration of its hooks.
  const { __registered: registered } = hook as unknown as { readonly __registered: Promise<void> };
  const once = registered.catch((error: unknown) => {
    // By another table, component, process or copy of this package: all of them register the same.
    if (!/already registered/.test(String(error))) throw error;
  });
  return [Object.assign(hook, { __registered: once })];
}

function refuseDeletion({ oldInputs }: pulumi.ResourceHookArgs): never {
  const { name, tables } = (oldInputs ?? {}) as { readonly name?: string; readonly tables?: string[] };
  const table = `The protected table ${name} would be deleted with its data, or replaced by an empty one.`;
  const service = `The protected tables ${tables?.join(" and ")} would be deleted with their data, and before them all that serves it. Nothing has been deleted.`;
  throw new Error(refusal(tables === undefined ? table : service));
}

/**
 * Depends on all else in a service, so that Pulumi deletes it first: when it refuses, nothing has been deleted. An update
 * without a preview would reach protected tables last, after all that serves them.
 */
export class DataGuard extends pulumi.ComponentResource {
  constructor(
    name: string,
    { tables, protect }: { readonly tables: readonly string[]; readonly protect: boolean },
    options: pulumi.ComponentResourceOptions,
  ) {
    const hooks = protect ? { hooks: { beforeDelete: keepTables() } } : {};
    super(typeToken("DataGuard"), name, { tables }, { ...options, ...hooks });
    this.registerOutputs({});
  }
}

/**
 * Stops an update that would replace the protected tables of the stack by the empty ones of a component with another name. No
 * resource could do that before the first update of a stack that has no {@link DataGuard} yet.
 */
export async function requireKnownTables(names: readonly string[]): Promise<void> {
  const { tables } = currentRun();
  for (const name of names) tables.add(name);
  // In a preview, the hook of the tables speaks. Pulumi's engine cannot read the state of a stack without any yet.
  if (isMocked() || pulumi.runtime.isDryRun()) return;
  const found = findTables(await stateBefore());
  const isNew = names.some((name) => !found.has(name));
  const lost = [...found.keys()].filter((name) => found.get(name) && !tables.has(name));
  if (!isNew || lost.length === 0) return;
  const problem = `The stack has the protected tables ${lost.join(" and ")}, but no component of this program so far has them: ${names.join(" and ")} would take their place.`;
  throw new pulumi.RunError(
    `${refusal(problem)}\n  If this is a further service, create it after the one that has them.`,
  );
}

/** By the names of the tables in a state: true if protected. */
function findTables(state: StateOutputs): ReadonlyMap<string, boolean> {
  const found = Object.entries(state).filter(([urn]) => urn.includes(TABLE));
  return new Map(
    found.map(([, { outputs }]) => [`${outputs?.["name"]}`, outputs?.["deletionProtectionEnabled"] === true]),
  );
}

const TABLE = `${typeToken("Tables")}$aws:dynamodb/table:Table::`;

function refusal(problem: string): string {
  return [
    problem,
    "  After a rename of the stack or project, set 'renamedFrom'; after one of the component, pass its old name in 'aliases'.",
    "  Set 'tables' to the names that the tables have. A table that is to take their place has to be imported first.",
    "  To delete the data, or to keep the tables without the service: infra/recovery.md#tables-without-a-service.",
    "  See infra/recovery.md#rename-import-restore.",
  ].join("\n");
}
