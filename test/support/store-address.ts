import type { Store } from "../../lib/stores/store.ts";

/** A database that several processes of a test open. It can be sent to a process as JSON. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "dynamodb"; readonly endpoint: string; readonly prefix: string }
  | { readonly kind: "postgres"; readonly connectionString: string; readonly schema?: string };

/** A database that the command line opens without an account of a cloud. */
export type LocalAddress = Exclude<StoreAddress, { readonly kind: "dynamodb" }>;

/** The options with which every command uses the store. */
export function storeOptions(address: LocalAddress): readonly string[] {
  return address.kind === "sqlite" ? ["--database", address.path] : ["--postgres", address.connectionString];
}

/** Opens an instance of the store, with connections of its own. Only its own driver is loaded. */
export async function openStore(address: StoreAddress): Promise<Store> {
  if (address.kind === "sqlite") {
    const { createSqliteStore } = await import("../../lib/stores/sqlite/index.ts");
    return createSqliteStore({ path: address.path });
  }
  if (address.kind === "postgres") {
    const { createPostgresStore } = await import("../../lib/stores/postgres/index.ts");
    const { kind: _kind, ...options } = address;
    return createPostgresStore(options);
  }
  const { createDynamodbStore } = await import("../../lib/stores/dynamodb/index.ts");
  const { clientFor } = await import("./dynamodb/emulator.ts");
  const client = clientFor(address.endpoint);
  const store = createDynamodbStore({ prefix: address.prefix, client });
  return { ...store, close: async () => client.destroy() };
}
