import * as pulumi from "@pulumi/pulumi";
import { InvalidInputError, isInvalidInput } from "../../lib/core/errors.ts";
import { parseCustomHost } from "../../lib/domains/hostname.ts";
import { runsByEngine } from "../claims.ts";
import { type SettingsInput, withDefaults } from "../config/settings.ts";
import { CustomDomain } from "../domains/custom-domain.ts";
import { domainOutput } from "../domains/hosts.ts";
import { preflight } from "../domains/preflight.ts";
import { deleteTemporaryFolders } from "../functions/function.ts";
import { deployStoreOrders } from "../store-orders.ts";

/**
 * The provider of the component package in infra/component, by which programs in every language of Pulumi create the
 * components. Its schema, in JSON, declares the inputs and outputs of the functions below.
 */
export function componentProvider(schema: string): pulumi.provider.Provider {
  const { version } = JSON.parse(schema) as { readonly version: string };
  return {
    version,
    schema,
    async construct(name, type, inputs, options) {
      const construct = COMPONENTS[type];
      if (construct === undefined) throw new Error(`This package has no component ${type}.`);
      return construct(name, inputs, options).catch(explainInputs);
    },
    async cancel() {
      // Called at the end of each run, before Pulumi kills the process.
      deleteTemporaryFolders();
      runsByEngine.clear();
    },
  };
}

type Construct = (
  name: string,
  inputs: pulumi.Inputs,
  options: pulumi.ComponentResourceOptions,
) => Promise<pulumi.provider.ConstructResult>;

/** By type of the schema: creates the component, and returns its outputs. */
const COMPONENTS: Readonly<Record<string, Construct>> = {
  /** The whole service: see `deployStoreOrders`. */
  async "store-orders:index:Service"(name, { alarmEmail, ...inputs }, options) {
    const settings = { ...(await known(inputs)), ...(alarmEmail === undefined ? {} : { alarmEmail }) };
    // `withDefaults` validates everything, also the domains.
    const service = await deployStoreOrders(name, settings as SettingsInput, options);
    const { urn, baseUrl, dashboardUrl, domainStatus, tables } = service;
    const names = { ordersTable: tables.orders.name, accountsTable: tables.accounts.name };
    return { urn, state: { baseUrl, dashboardUrl, domainStatus, ...names } };
  },

  /** A host of an API that the program has: `preflight`, then `CustomDomain`. */
  async "store-orders:index:CustomDomain"(name, { restApi, stageName, ...inputs }, options) {
    const { host = "", hold, adopt, reverify, certificateArn, ...others } = await known(inputs);
    const parsed = parseCustomHost(String(host));
    if (!parsed.ok) throw new InvalidInputError([{ path: "host", message: parsed.message }]);
    const { hostname } = parsed;
    const settings = withDefaults({
      ...others,
      // What a project with its plan may have is the program's decision.
      plan: "pro",
      domains: { primary: hostname },
      ...(hold === true && { hold: [hostname] }),
      ...(adopt !== undefined && { adopt: { [hostname]: adopt } }),
      ...(certificateArn !== undefined && { certificates: { [hostname]: certificateArn } }),
      ...(reverify !== undefined && { reverify: { [hostname]: reverify } }),
    } as unknown as SettingsInput);
    const [plan] = await preflight(settings, options);
    if (plan === undefined) throw new Error(`The host ${hostname} was not planned.`);
    const domain = new CustomDomain(name, { ...plan, restApi, stageName }, options);
    const { role, ...status } = domainOutput({ plan, domain });
    return { urn: domain.urn, state: { ...status, certificateArn: domain.certificateArn } };
  },
};

/** Waits for inputs that can be outputs of other resources. Names each that is a secret, or that a preview does not know yet. */
async function known(inputs: pulumi.Inputs): Promise<Readonly<Record<string, unknown>>> {
  const resolved = Object.entries(inputs).map(async ([key, value]) => {
    const output = pulumi.output(value);
    // Not in the typings. The callback of `apply` is never called in a preview if the value is not known.
    const { isKnown } = output as unknown as { readonly isKnown: Promise<boolean> };
    if (!(await isKnown)) return { key, issues: [{ path: key, message: UNKNOWN }] };
    if (await pulumi.isSecret(output)) return { key, issues: [{ path: key, message: SECRET }] };
    return { key, value: await new Promise((resolve) => output.apply(resolve)), issues: [] };
  });
  const all = await Promise.all(resolved);
  const issues = all.flatMap((each) => each.issues);
  if (issues.length > 0) throw new InvalidInputError(issues);
  return Object.fromEntries(all.map(({ key, value }) => [key, value]));
}

const UNKNOWN =
  "The value is not known yet, but decides what is created. Write it down, or create the resource that it comes from in an update before.";

const SECRET = "The state and the functions show this value, so it cannot be a secret. Pass it as it is.";

function explainInputs(error: unknown): never {
  if (!isInvalidInput(error)) throw error;
  const errors = error.issues.map(({ path, message }) => ({ propertyPath: path, reason: message }));
  throw new pulumi.InputPropertiesError({ message: "The settings are invalid.", errors });
}
