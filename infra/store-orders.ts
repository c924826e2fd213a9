import * as pulumi from "@pulumi/pulumi";
import { BASE_PATH } from "../lib/http/operations.ts";
import { AccessLog } from "./api/access-log.ts";
import { Api, BUFFERED_MS } from "./api/api.ts";
import type { Settings } from "./config/settings.ts";
import { CustomDomain } from "./domains/custom-domain.ts";
import { type DomainOutput, domainOutput } from "./domains/domain-output.ts";
import { goesLive, type HostPlan } from "./domains/host-plan.ts";
import { functionEnvironment } from "./functions/environment.ts";
import { OrdersFunction } from "./functions/function.ts";
import { type FunctionRole, PERMISSIONS, tableStatements } from "./functions/permissions.ts";
import { type ReleaseOutput, releasedFunctions, releaseOutput } from "./functions/release.ts";
import { ownershipTag, typeToken } from "./names.ts";
import { Observability } from "./observability/observability.ts";
import { Tables } from "./tables.ts";

/** Arguments of {@link StoreOrders}. */
export interface StoreOrdersArgs {
  readonly settings: Settings;
  /** The hosts, as planned by `preflight`. @default none: only the API Gateway hostname serves */
  readonly hosts?: readonly HostPlan[];
  /** The bundle that contains both functions. */
  readonly code: pulumi.Input<pulumi.asset.Archive>;
}

/** The whole service. Its name is the prefix of all names in it, including those of the tables. */
export class StoreOrders extends pulumi.ComponentResource {
  readonly tables: Tables;
  readonly api: Api;
  /** By host. */
  readonly customDomains: ReadonlyMap<string, CustomDomain>;
  /** Ends with `/v1`. Uses the primary host once its record points to the API. */
  readonly baseUrl: pulumi.Output<string>;
  /** By host: its role, its state with the reason and what to do next, and the DNS record that it needs. */
  readonly domainStatus: Readonly<Record<string, DomainOutput>>;
  readonly dashboardUrl: pulumi.Output<string>;
  /** What `store-orders release` reads. Missing without a canary. */
  readonly release?: ReleaseOutput;

  readonly #name: string;
  readonly #args: StoreOrdersArgs;

  constructor(name: string, args: StoreOrdersArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("StoreOrders"), name, {}, options);
    this.#name = name;
    this.#args = args;
    const { settings, hosts = [] } = args;
    const parent = { parent: this };

    this.tables = new Tables(`${name}-tables`, { prefix: name, protect: settings.protect }, parent);
    const functions = { list: this.#function("list"), api: this.#function("api") };
    const accessLog = this.#accessLog();
    this.api = new Api(
      `${name}-gateway`,
      {
        functions,
        streamSeconds: settings.timeoutSeconds,
        throttle: settings.throttle,
        closePlatformHost: settings.closePlatformHost,
        ...(settings.waf === undefined ? {} : { waf: settings.waf }),
        ...(accessLog === undefined ? {} : { accessLog }),
      },
      parent,
    );
    this.customDomains = this.#customDomains(hosts);
    const observability = this.#observability(functions);

    this.baseUrl = this.#baseUrl();
    this.domainStatus = Object.fromEntries(
      hosts.flatMap((plan) => {
        const domain = this.customDomains.get(plan.host);
        return domain === undefined ? [] : [[plan.host, domainOutput(plan, domain)]];
      }),
    );
    this.dashboardUrl = observability.dashboardUrl;
    if (settings.canary) this.release = releaseOutput(functions, observability.releaseAlarms);
    this.registerOutputs({ baseUrl: this.baseUrl });
  }

  #function(role: FunctionRole) {
    const { settings, code } = this.#args;
    const { orders, accounts } = this.tables;
    const { timeoutSeconds, memoryMiB, logRetentionDays, reservedConcurrency } = settings;
    return new OrdersFunction(
      `${this.#name}-${role}`,
      {
        description: DESCRIPTIONS[role],
        code,
        handler: `entry.${role}`,
        environment: functionEnvironment({ ...settings, servers: this.#servers() }, this.#name),
        statements: tableStatements(PERMISSIONS[role], { orders: orders.arn, accounts: accounts.arn }),
        memoryMiB,
        timeoutSeconds: role === "list" ? timeoutSeconds : Math.min(timeoutSeconds, BUFFERED_MS / 1_000),
        ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
        logRetentionDays,
        canary: settings.canary,
      },
      { parent: this },
    );
  }

  #accessLog() {
    const { accessLogs, logRetentionDays } = this.#args.settings;
    if (accessLogs === "off") return undefined;
    const args = { logRetentionDays, manageAccount: accessLogs === "manage" };
    return new AccessLog(`${this.#name}-access`, args, { parent: this });
  }

  /** Created one after another, because API Gateway creates at most one domain name per 30 seconds. */
  #customDomains(hosts: readonly HostPlan[]): ReadonlyMap<string, CustomDomain> {
    const tags = ownershipTag(pulumi.getProject(), pulumi.getStack());
    const { restApi, stage } = this.api;
    const domains = new Map<string, CustomDomain>();
    let previous: CustomDomain | undefined;
    for (const { host, key, dns, reverify } of hosts) {
      previous = new CustomDomain(
        `${this.#name}-${key}`,
        {
          host,
          dns,
          restApi: restApi.id,
          stageName: stage.stageName,
          tags,
          ...(previous === undefined ? {} : { createAfter: previous }),
          ...(reverify === undefined ? {} : { reverify }),
        },
        { parent: this },
      );
      domains.set(host, previous);
    }
    return domains;
  }

  #observability(functions: Record<FunctionRole, OrdersFunction>) {
    const { list, api } = functions;
    const { restApi, stage } = this.api;
    const { alarmEmail, canary } = this.#args.settings;
    const certificates = (this.#args.hosts ?? []).flatMap(({ host, key }) => {
      const domain = this.customDomains.get(host);
      return domain === undefined ? [] : [{ key, host, arn: domain.certificate.arn }];
    });
    const monitored = {
      apiName: restApi.name,
      stageName: stage.stageName,
      functions: { list: list.function.name, api: api.function.name },
      tables: { orders: this.tables.orders.name, accounts: this.tables.accounts.name },
      certificates,
      namespace: this.#name,
    };
    return new Observability(
      this.#name,
      {
        monitored,
        region: restApi.region,
        ...(canary ? { released: releasedFunctions(functions) } : {}),
        ...(alarmEmail === undefined ? {} : { email: alarmEmail }),
      },
      { parent: this },
    );
  }

  /** The primary host once it is live, otherwise the API Gateway hostname. */
  #baseUrl(): pulumi.Output<string> {
    const known = this.#primaryUrl();
    if (known !== undefined) return pulumi.output(known);
    const platform = pulumi.interpolate`${this.api.stage.invokeUrl}${BASE_PATH}`;
    const { host = "" } = this.#args.hosts?.find(({ role }) => role === "primary") ?? {};
    const state = this.customDomains.get(host)?.state ?? "pending_dns";
    return pulumi.all([state, platform]).apply(([now, url]) => (now === "live" ? urlOf(host) : url));
  }

  /** The servers in the OpenAPI document. The address that serves the document is always the first. */
  #servers() {
    const url = this.#primaryUrl();
    const own = url === undefined ? [] : [{ url, description: pulumi.getStack() }];
    return this.#args.settings.servers ?? own;
  }

  /** The address of the primary host if this update routes traffic to it. */
  #primaryUrl(): string | undefined {
    const primary = this.#args.hosts?.find((plan) => plan.role === "primary" && goesLive(plan));
    return primary === undefined ? undefined : urlOf(primary.host);
  }
}

function urlOf(host: string): string {
  return `https://${host}${BASE_PATH}`;
}

const DESCRIPTIONS = {
  list: "Streams the list of orders",
  api: "Handles every request except listing orders",
} as const satisfies Record<FunctionRole, string>;
