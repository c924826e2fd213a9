/** The entry of the component package. Pulumi loads it with `require`, so it has no `await` at its top level. */
import { readFileSync } from "node:fs";
import { provider } from "@pulumi/pulumi";
import { componentProvider } from "store-orders/infra";

const schema = readFileSync(new URL("schema.json", import.meta.url), "utf8");
provider.main(componentProvider(schema), process.argv.slice(2));
