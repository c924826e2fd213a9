/** Generates the schema of the component package in infra/component, which Pulumi turns into an SDK for each language. */
import * as z from "zod";
import { SECRET_SETTINGS, settingsSchema } from "../infra/config/schema.ts";

/** A type of Pulumi's package schema. `plain` is a value that is known before the run, not an output. */
type PulumiType = Readonly<Record<string, unknown>>;

/** The keywords of JSON Schema that the settings use. */
interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | false;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
}

/** By type of JSON Schema: that of Pulumi. */
const SCALARS: Readonly<Record<string, string>> = {
  ...{ string: "string", boolean: "boolean", integer: "integer", number: "integer" },
};

const text = (description: string) => ({ type: "string", description });
const texts = (description: string) => ({ type: "array", items: { type: "string" }, description });
const typeName = (key: string) => `store-orders:index:${key.charAt(0).toUpperCase()}${key.slice(1)}`;
const reference = (key: string) => ({ $ref: `#/types/${typeName(key)}` });

/**
 * The schema of the package.
 *
 * @param version the version of the package
 * @param meanings by setting, such as `plan` or `throttle.burst`: its description
 */
export function componentSchema(version: string, meanings: ReadonlyMap<string, string>): object {
  const types: Record<string, PulumiType> = { ...STATUS_TYPES };

  /** Converts a setting. Objects become types of the package, which are named after the setting. */
  const toPulumi = (key: string, schema: JsonSchema, name = key): PulumiType => {
    const { type, enum: values, items, properties, additionalProperties, required = [], anyOf } = schema;
    const listed = type === "string" && values !== undefined ? `One of: ${values.join(", ")}.` : "";
    const about = [meanings.get(key) ?? schema.description ?? "", listed].filter(Boolean).join(" ");
    const described = about === "" ? {} : { description: about };
    if (properties !== undefined) {
      const fields = Object.entries(properties);
      const converted = fields.map(([field, each]) => [field, toPulumi(`${key}.${field}`, each, field)]);
      types[typeName(name)] = { type: "object", properties: Object.fromEntries(converted), required };
      return { ...reference(name), plain: true, ...described };
    }
    // A list of redirects has a type for one redirect.
    const one = name.replace(/s$/, "");
    if (items !== undefined)
      return { type: "array", items: toPulumi(`${key}.items`, items, one), plain: true, ...described };
    if (additionalProperties)
      return {
        type: "object",
        additionalProperties: toPulumi(`${key}.items`, additionalProperties, one),
        plain: true,
        ...described,
      };
    if (anyOf !== undefined)
      return { oneOf: anyOf.map((each) => toPulumi(`${key}.choice`, each, name)), plain: true, ...described };
    const scalar = SCALARS[type ?? ""];
    if (scalar === undefined) throw new Error(`Pulumi has no type for the setting ${key}.`);
    return { type: scalar, ...(SECRET_SETTINGS.has(key) ? {} : { plain: true }), ...described };
  };

  const settings = z.toJSONSchema(settingsSchema, { io: "input" }) as JsonSchema;
  const inputs = Object.fromEntries(
    Object.entries(settings.properties ?? {}).map(([key, schema]) => [key, toPulumi(key, schema)]),
  );
  const { dns, resolver } = inputs;
  return {
    name: "store-orders",
    displayName: "Store orders",
    version,
    description: "The orders API of a store: the whole service, or a custom domain for an API of yours.",
    license: "MIT",
    language: {
      // Whoever writes TypeScript uses `store-orders/infra`.
      csharp: { respectSchemaVersion: true },
      go: { importBasePath: "example.com/store-orders/sdk/go/storeorders", respectSchemaVersion: true },
      nodejs: { respectSchemaVersion: true },
      python: { respectSchemaVersion: true, pyproject: { enabled: true } },
    },
    resources: {
      "store-orders:index:Service": {
        isComponent: true,
        description:
          "The whole service. Its name is the prefix of all names in it, including those of the tables: another one in each stack. The inputs are the settings of a stack file.",
        inputProperties: inputs,
        properties: SERVICE_OUTPUTS,
        required: Object.keys(SERVICE_OUTPUTS),
      },
      "store-orders:index:CustomDomain": {
        isComponent: true,
        description:
          "A host of an API of yours at API Gateway: certificate, validation, domain name, mapping and, last, the DNS record. DNS is checked before anything is created. Create several hosts one after another, with `dependsOn`: API Gateway creates one domain name in 30 seconds.",
        inputProperties: {
          host: { ...text("The host, such as `orders.example.com`."), plain: true },
          restApi: text("The identifier of the REST API, which has to be regional."),
          stageName: text("The stage of the API to which every path of the host leads."),
          dns,
          resolver,
          hold: { type: "boolean", plain: true, description: "Prepares the host without its DNS record." },
          adopt: { ...text("The identifier of an existing record to take over."), plain: true },
          certificateArn: { ...text("The ARN of an existing certificate to use."), plain: true },
          reverify: {
            type: "integer",
            plain: true,
            description: "A changed number requests a new certificate.",
          },
        },
        requiredInputs: ["host", "restApi", "stageName"],
        properties: { ...STATUS, certificateArn: text("The ARN of the certificate.") },
        required: [...STATUS_REQUIRED, "certificateArn"],
      },
    },
    types,
  };
}

/** The status of a host, as the outputs of a stack show it. */
const STATUS = {
  dns: text("Who sets the records of the host: `cloudflare`, `route53` or, by hand, `manual`."),
  state: text("The state of the host in its lifecycle, such as `live`."),
  attention: text("In the state `needs_attention`: the cause."),
  reason: text("Why the host is in this state."),
  next: texts("What to do, one step for each entry."),
  since: text("While a certificate is awaited: when it was requested."),
  until: text("While a certificate is awaited: until when ACM waits."),
  record: { ...reference("StackRecord"), description: "The DNS record that the host needs." },
  validationRecord: {
    ...reference("StackRecord"),
    description: "The record by which ACM validates the host.",
  },
};
const STATUS_REQUIRED = ["dns", "state", "reason", "next", "record"];

const STATUS_TYPES = {
  [typeName("StackHost")]: {
    type: "object",
    description: "A host of the service.",
    properties: { role: text("`primary`, `alias` or `redirect`."), ...STATUS },
    required: ["role", ...STATUS_REQUIRED],
  },
  [typeName("StackRecord")]: {
    type: "object",
    description: "A DNS record.",
    properties: {
      zone: text("The zone that the record belongs to."),
      type: text("Its type, such as `CNAME`."),
      name: text("Its name relative to the zone; `@` at the apex."),
      ttl: { type: "integer", description: "In seconds." },
      value: text("Missing until it is known."),
    },
    required: ["zone", "type", "name", "ttl"],
  },
};

const SERVICE_OUTPUTS = {
  baseUrl: text("The address of the API; ends with `/v1`."),
  dashboardUrl: text("The CloudWatch dashboard."),
  domainStatus: {
    type: "object",
    additionalProperties: reference("StackHost"),
    description: "By host: its state, the next steps, and the DNS record that it needs.",
  },
  ordersTable: text("The name of the table of orders."),
  accountsTable: text("The name of the table of accounts."),
};
