import * as pulumi from "@pulumi/pulumi";
import { tableNames } from "../lib/stores/dynamodb/schema.ts";
import { AccessLog } from "./api/access-log.ts";
import { Api } from "./api/api.ts";
import { claim, hostClaims, providerOf } from "./claims.ts";
import { type Settings, type SettingsInput, withDefaults } from "./config/settings.ts";
import type { CustomDomain } from "./domains/custom-domain.ts";
import type { HostPlan } from "./domains/host-plan.ts";
import { baseUrl, createHosts, type DomainOutput, domainOutput, primaryUrl } from "./domains/hosts.ts";
import { preflight } from "./domains/preflight.ts";
import { ChangeEvents } from "./events/change-events.ts";
import { functionCode } from "./functions/function.ts";
import { createFunctions, storeEnvironment } from "./functions/functions.ts";
import { DataGuard, requireKnownTables } from "./kept-tables.ts";
import { checkName, nameInAccount, ownerOf, typeToken } from "./names.ts";
import { Observability } from "./observability/observability.ts";
import { Tables } from "./tables.ts";
import { withTags } from "./tags.ts";

/**
 * Deploys the whole service in a program of your own: checks DNS, bundles the functions, and creates everything. The
 * settings are those of a stack file; domains come from `defineDomains`.
 *
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { deployStoreOrders } from "store-orders/infra";
 * import { domains } from "./domains.ts";
 *
 * const name = `orders-${pulumi.getStack()}`;
 * export const { baseUrl, domainStatus } = await deployStoreOrders(name, { plan: "pro", domains });
 * ```
 *
 * @param name the prefix of all names in it, including those of the tables; another one in each stack
 * @throws {InvalidInputError} if a setting is invalid; lists every problem
 * @throws {pulumi.RunError} if the DNS of a host is not ready; lists every problem with its fix
 */
export async function deployStoreOrders(
  name: string,
  settings: SettingsInput = {},
  options?: pulumi.ComponentResourceOptions,
): Promise<StoreOrders> {
  return deploySettings(name, withDefaults(settings), options);
}

export async function deploySettings(
  name: string,
  settings: Settings,
  options?: pulumi.ComponentResourceOptions,
): Promise<StoreOrders> {
  checkName(name, settings);
  await requireKnownTables(Object.values(tableNames({ prefix: name, tables: settings.tables })));
  const hosts = await preflight(settings, options);
  const code = await functionCode({ entry: settings.entry, events: settings.events !== undefined });
  return new StoreOrders(name, { settings, hosts, code }, options);
}

/** Arguments of {@link StoreOrders}. */
export interface StoreOrdersArgs {
  readonly settings: Settings;
  /** The hosts, as planned by `preflight`. @default none: only the API Gateway hostname serves */
  readonly hosts?: readonly HostPlan[];
  /** The functions: `functionCode()`, with the setting `events` `functionCode({ events: true })`. */
  readonly code: pulumi.Input<pulumi.asset.Archive>;
}

/** A rename of a component that is deployed deletes the alarms of the other one, which have the same names. */
const RENAME =
  "Choose another name for one of them: infra/recovery.md#rename-a-component. Run 'npx pulumi up --refresh' after a rename.";

/** The whole service. Its name is the prefix of all names in it, including those of the tables. */
export class StoreOrders extends pulumi.ComponentResource {
  readonly tables: Tables;
  readonly api: Api;
  /** By host. */
  readonly customDomains: ReadonlyMap<string, CustomDomain>;
  /** Ends with `/v1`. Uses the primary host once its record points to the API. */
  readonly baseUrl: pulumi.Output<string>;
  /** By host: its role, its state with the reason and the next steps, and the DNS record that it needs. */
  readonly domainStatus: Readonly<Record<string, DomainOutput>>;
  readonly dashboardUrl: pulumi.Output<string>;

  constructor(name: string, args: StoreOrdersArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("StoreOrders"), name, {}, withTags(args.settings.tags, options));
    const { settings, hosts = [], code } = args;
    const { accessLogs, alarmEmail, events, logRetentionDays, permissionsBoundary, waf } = settings;
    const parent = { parent: this };
    checkName(name, settings);
    const namespace = nameInAccount(name, ownerOf(settings));
    const scope = providerOf(this);
    const subject = `The name '${namespace}' of alarms, dashboard and metrics`;
    const ofHosts = hosts.flatMap((plan) => hostClaims(`${name}-${plan.key}`, plan, scope));
    claim(this, name, [{ subject, scope, fix: RENAME }, ...ofHosts]);
    const environment = storeEnvironment(settings, name, namespace);

    const { tables, protect } = settings;
    const tableArgs = { prefix: name, tables, protect, stream: events !== undefined };
    this.tables = new Tables(`${name}-tables`, tableArgs, parent);
    const { basePath, closePlatformHost, throttle, timeoutSeconds: streamSeconds } = settings;
    const url = primaryUrl(hosts, basePath);
    const servers = settings.servers ?? (url === undefined ? [] : [{ url, description: pulumi.getStack() }]);
    const functionsArgs = { settings, servers, code, environment, tables: this.tables };
    const functions = createFunctions(name, functionsArgs, this);
    const accessLog =
      accessLogs === "off" ? undefined : new AccessLog(`${name}-access`, { logRetentionDays }, parent);
    const webAcl = waf && { ...waf, metricName: `${namespace}-gateway-waf` };
    const served = { functions, streamSeconds, throttle, basePath, closePlatformHost };
    this.api = new Api(`${name}-gateway`, { ...served, waf: webAcl, accessLog }, parent);
    const { restApi, stage } = this.api;
    const eventsArgs = { code, environment, tables: this.tables, logRetentionDays, permissionsBoundary };
    const changeEvents = events && new ChangeEvents(`${name}-events`, { ...events, ...eventsArgs }, parent);
    const created = createHosts(name, hosts, this.api, this);
    const ofEvents = changeEvents && { events: changeEvents.handler.function.name };
    const monitored = {
      apiName: restApi.name,
      stageName: stage.stageName,
      functions: { list: functions.list.function.name, api: functions.api.function.name, ...ofEvents },
      tables: { orders: this.tables.orders.name, accounts: this.tables.accounts.name },
      ...(settings.plans && { plans: Object.keys(settings.plans) }),
      certificates: created.map(({ plan, domain }) => ({ ...plan, arn: domain.certificateArn })),
      namespace,
    };
    // CloudWatch overwrites what has the same name. If another stack has that, the tables exist, and nothing is overwritten.
    const afterTables = { ...parent, dependsOn: [this.tables.orders, this.tables.accounts] };
    const observabilityArgs = { monitored, region: restApi.region, email: alarmEmail };
    const observability = new Observability(name, observabilityArgs, afterTables);
    const optional = [accessLog, changeEvents].filter((each) => each !== undefined);
    const ofApi = [
      ...Object.values(functions),
      this.api,
      ...optional,
      ...created.map(({ domain }) => domain),
    ];
    const everything = [this.tables, ...ofApi, observability];
    const guarded = { tables: Object.values(tableNames({ prefix: name, tables })), protect };
    new DataGuard(`${name}-data`, guarded, { ...parent, dependsOn: everything });

    this.customDomains = new Map(created.map(({ plan, domain }) => [plan.host, domain]));
    this.baseUrl = baseUrl(created, stage, basePath);
    this.domainStatus = Object.fromEntries(created.map((each) => [each.plan.host, domainOutput(each)]));
    this.dashboardUrl = observability.dashboardUrl;
    this.registerOutputs({ baseUrl: this.baseUrl });
  }
}
