import { readFileSync } from "node:fs";
import type { State, StateEntry } from "./deployment.ts";
import type { Registration } from "./registration.ts";

type Recorded = Partial<Registration> & Pick<Registration, "urn"> & Partial<Omit<StateEntry, "registration">>;

/**
 * The state of a live stack that an earlier version deployed, before tables could have names: `program`, the stack
 * production with every setting that adds resources, and `guest`, somebody else's program without protection. It has what
 * holds data, serves, or is known to others, without the rest, such as alarms and the methods of the API.
 */
export function earlierState(name: "guest" | "program"): State {
  const file = new URL(`../states/${name}.json`, import.meta.url);
  const entries: readonly Recorded[] = JSON.parse(readFileSync(file, "utf8"));
  return new Map(
    entries.map(({ urn, id, outputs = {}, ...recorded }) => {
      const [, , types = "", resourceName = ""] = urn.split("::");
      const registration: Registration = {
        ...{ type: types.split("$").at(-1) ?? "", name: resourceName, parent: "", custom: id !== undefined },
        ...{
          inputs: {},
          dependencies: [],
          dependsOn: [],
          protect: false,
          retainOnDelete: false,
          deleteBeforeReplace: false,
        },
        ...{ deletedWith: "", importId: "", replacementTrigger: null, ignoreChanges: [], createTimeout: "" },
        ...{ aliases: [], beforeDelete: [] },
        ...recorded,
        urn,
      };
      return [urn, { id: id ?? "", outputs, registration }];
    }),
  );
}

/** The state after `pulumi stack rename`, which changes URNs and nothing else. */
export function renameStack(state: State, from: string, to: string): State {
  const renamed = JSON.stringify([...state]).replaceAll(`urn:pulumi:${from}::`, `urn:pulumi:${to}::`);
  return new Map(JSON.parse(renamed) as [string, StateEntry][]);
}

/** The state after `pulumi state delete` of a table and `pulumi import` of another, such as a restored one. */
export function importTable(state: State, name: string, table: string): State {
  const changed = [...state].map(([urn, entry]): readonly [string, StateEntry] => {
    if (entry.registration.name !== name) return [urn, entry];
    const was = String(entry.registration.inputs["name"]);
    const [outputs, inputs] = [entry.outputs, { ...entry.registration.inputs }].map((values) =>
      JSON.parse(JSON.stringify(values).replaceAll(was, table)),
    );
    // A restored table has neither recovery nor deletion protection nor a stream, and an import protects nothing yet.
    for (const input of [
      "pointInTimeRecovery",
      "deletionProtectionEnabled",
      "streamEnabled",
      "streamViewType",
    ])
      delete inputs[input];
    const registration = { ...entry.registration, inputs, protect: true, beforeDelete: [] };
    return [urn, { id: table, outputs: { ...outputs, streamArn: "" }, registration }];
  });
  return new Map(changed);
}
