import type { AccountSettings } from "../../accounts/account.ts";
import {
  activeKeys,
  idsValue,
  keyEntries,
  type NamedKey,
  namedKeysOf,
  planAttributes,
} from "./admission-item.ts";
import { numberValue, textOf } from "./attribute-values.ts";
import type { Attributes, Item } from "./item.ts";
import { isOldLayout, oldKeysOf, oldRejectionsOf } from "./old-layout.ts";
import { packKey } from "./packed-key.ts";
import type { ConditionalUpdate } from "./table.ts";

/** New settings of an account, with the version of its details if the keys have changed. */
export interface NewSettings {
  readonly settings: AccountSettings;
  readonly version: string | undefined;
  readonly revision: string;
}

/** A part of the update: clauses of its expressions, with the names and values that they need. */
interface UpdatePart {
  readonly sets: readonly string[];
  readonly removes: readonly string[];
  readonly conditions: readonly string[];
  readonly names: Readonly<Record<string, string>>;
  readonly values: Attributes;
}

/**
 * Replaces the settings in the admission item, conditional on those that were read. Counters and rejections of the keys
 * that stay are unchanged.
 */
export function settingsUpdate(seen: Item, { settings, version, revision }: NewSettings): ConditionalUpdate {
  const parts: UpdatePart[] = [settingPart({ ...planAttributes(settings), revision: { S: revision } })];
  if (settings.customLimits === undefined) parts.push(removingPart("#perMinute", "#perDay"));
  if (version !== undefined) parts.push(...keyParts(seen, settings, version));
  const all = <K extends keyof UpdatePart>(name: K) => parts.map((part) => part[name]);
  const removes = all("removes").flat();
  return {
    update: `SET ${all("sets").flat().join(", ")}${removes.length === 0 ? "" : ` REMOVE ${removes.join(", ")}`}`,
    condition: ["#revision = :seen", ...all("conditions").flat()].join(" AND "),
    names: Object.assign({}, ...all("names")),
    values: Object.assign({ ":seen": { S: textOf(seen["revision"]) } }, ...all("values")),
  };
}

function keyParts(seen: Item, settings: AccountSettings, version: string): readonly UpdatePart[] {
  const keys = activeKeys(settings.keys);
  const ids = idsValue(settings.id, keys);
  return [
    settingPart({ details: { S: version }, ...(ids === undefined ? {} : { ids }) }),
    ...(ids === undefined ? [removingPart("#ids")] : []),
    isOldLayout(seen) ? convertedPart(seen, keys) : entriesPart(namedKeysOf(seen), keys),
  ];
}

/** Only the entries that differ are written, because admission counts rejections in the others. */
function entriesPart(before: readonly NamedKey[], after: readonly NamedKey[]): UpdatePart {
  const gone = before.filter(({ name }) => !after.some((key) => key.name === name));
  const changed = after.flatMap((key) => {
    const known = before.find(({ name }) => name === key.name);
    const value = packKey({ ...key, rejections: known?.rejections });
    const valueSeen = known && packKey(known);
    return value === valueSeen ? [] : [{ name: key.name, value, valueSeen }];
  });
  const replaced = changed.flatMap(({ valueSeen }, index) =>
    valueSeen === undefined ? [] : [{ valueSeen, index }],
  );
  return {
    sets: changed.map((_, index) => `#keys.#changed${index} = :changed${index}`),
    removes: gone.map((_, index) => `#keys.#gone${index}`),
    conditions: replaced.map(({ index }) => `#keys.#changed${index} = :changedSeen${index}`),
    names: Object.fromEntries([
      ...changed.map(({ name }, index) => [`#changed${index}`, name]),
      ...gone.map(({ name }, index) => [`#gone${index}`, name]),
    ]),
    values: Object.fromEntries([
      ...changed.map(({ value }, index) => [`:changed${index}`, { N: value }]),
      ...replaced.map(({ valueSeen, index }) => [`:changedSeen${index}`, { N: valueSeen }]),
    ]),
  };
}

/** Converts the old layout, conditional on the rejections that were read. */
function convertedPart(seen: Item, keys: readonly NamedKey[]): UpdatePart {
  const counted = Object.keys(seen["penalties"]?.M ?? {});
  const hashes = new Map(oldKeysOf(seen).map(({ id, hash }) => [id, hash]));
  const entries = keys.map((key) => ({
    ...key,
    rejections: oldRejectionsOf(seen, hashes.get(key.id) ?? ""),
  }));
  const attributes = settingPart({ keys: { M: keyEntries(entries) }, tokens: { L: [] } });
  return {
    ...attributes,
    removes: ["#penalties"],
    conditions: [
      "size(#penalties) = :penalties",
      ...counted.map((_, index) => `#penalties.#counted${index}.#refused = :refused${index}`),
      ...counted.map((_, index) => `#penalties.#counted${index}.#start = :start${index}`),
    ],
    names: Object.fromEntries(counted.map((hash, index) => [`#counted${index}`, hash])),
    values: {
      ...attributes.values,
      ":penalties": numberValue(counted.length),
      ...Object.fromEntries(
        counted.flatMap((hash, index) => {
          const { count = 0, windowStart = 0 } = oldRejectionsOf(seen, hash) ?? {};
          return [
            [`:refused${index}`, numberValue(count)],
            [`:start${index}`, numberValue(windowStart)],
          ];
        }),
      ),
    },
  };
}

function settingPart(attributes: Attributes): UpdatePart {
  const names = Object.keys(attributes);
  return {
    sets: names.map((name) => `#${name} = :${name}`),
    values: Object.fromEntries(names.map((name) => [`:${name}`, attributes[name] ?? { NULL: true }])),
    removes: [],
    conditions: [],
    names: {},
  };
}

function removingPart(...removes: readonly string[]): UpdatePart {
  return { sets: [], removes, conditions: [], names: {}, values: {} };
}
