import { domainToUnicode } from "node:url";
import type { Registration } from "./registration.ts";
import type { Value } from "./wire.ts";

export interface ZoneRecord {
  readonly id: string;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment: string;
}

/** The DNS records of Cloudflare, with its rule that a name with a CNAME has no other address record. */
export function dnsRecords(initial: readonly ZoneRecord[]) {
  const records = new Map(initial.map((record) => [record.id, record]));
  const readRecord = (id: string) => {
    const record = records.get(id);
    if (record === undefined) throw new Error(`Record does not exist. (81044) ${id}`);
    return record;
  };

  return {
    list: () => [...records.values()],
    find({ zoneId, name, content, type }: Readonly<Record<string, Value>>): Value {
      const found = [...records.values()].filter(
        (record) =>
          zoneId === zoneIdOf(record) &&
          (type === undefined || type === record.type) &&
          matches(record.name, name) &&
          matches(record.content, content),
      );
      return found.map((record) => ({ ...record }));
    },
    create(id: string, registration: Registration) {
      const record = toRecord(id, registration);
      const atName = [...records.values()].filter(
        ({ name, type }) => name === record.name && ["A", "AAAA", "CNAME"].includes(type),
      );
      if (atName.some(({ type, content }) => type === record.type && content === record.content))
        throw new Error("An identical record already exists. (81058)");
      if (atName.length > 0)
        throw new Error("An A, AAAA, or CNAME record with that host already exists. (81053)");
      records.set(id, record);
    },
    /** Reads the record with an import identifier: `<zone id>/<record id>`. */
    read(importId: string): ZoneRecord {
      const [zoneId, id = ""] = importId.split("/");
      const record = readRecord(id);
      if (zoneIdOf(record) !== zoneId) throw new Error(`Record does not exist. (81044) ${importId}`);
      return record;
    },
    update(id: string, registration: Registration) {
      readRecord(id);
      records.set(id, toRecord(id, registration));
    },
    delete(id: string) {
      readRecord(id);
      records.delete(id);
    },
  };
}

function zoneIdOf({ zone }: ZoneRecord): string {
  return `zone-of-${zone}`;
}

function toRecord(id: string, { inputs }: Registration): ZoneRecord {
  const text = (key: string) => String(inputs[key]);
  const zone = text("zoneId").replace("zone-of-", "");
  return {
    id,
    zone,
    // Cloudflare has internationalised names in Unicode, whatever it is given.
    name: domainToUnicode(text("name")),
    type: text("type"),
    content: text("content"),
    comment: text("comment"),
  };
}

/** True if a text passes a filter of Cloudflare's API; a missing filter matches every text. */
function matches(text: string, filter: Value | undefined): boolean {
  if (typeof filter !== "object" || filter === null) return true;
  return Object.entries(filter).every(([kind, expected]) => {
    if (kind === "exact") return text === expected;
    if (kind === "endswith") return text.endsWith(String(expected));
    throw new Error(`The test cloud does not implement the filter '${kind}'.`);
  });
}
