import type { Context, Hono } from "hono";
import type { html } from "hono/html";
import type { Environment } from "../accounts/api-key.ts";
import type { Clock } from "../clock.ts";
import type { Store } from "../stores/store.ts";
import type { TrafficSampler } from "./accounts/traffic-sampler.ts";
import type { DomainsOptions } from "./domains/domains-source.ts";

/** Escaped HTML, from the template `html`. */
export type Html = ReturnType<typeof html>;

/** What the pages work on. */
export interface ConsoleContext {
  readonly store: Store;
  /** The store's name for people. */
  readonly storeName: string;
  /** True if reading from the store costs money. */
  readonly isMetered: boolean;
  /** The environment segment of new keys. */
  readonly environment: Environment;
  readonly clock: Clock;
  /** The traffic that the console has observed. */
  readonly traffic: TrafficSampler;
  /** The domains of the project, if the console was started with them. */
  readonly domains?: DomainsOptions;
}

/** A part of the console with a place in its navigation. */
export interface Section {
  /** The first segment of its paths. */
  readonly path: string;
  readonly title: string;
  /** Adds the pages, with paths below the console's own. */
  add(app: ConsoleApp, context: ConsoleContext): void;
}

/** What each request carries. */
export interface View {
  readonly basePath: string;
  readonly formToken: string;
  readonly storeName: string;
  readonly sections: readonly Pick<Section, "path" | "title">[];
  /** The fields of a change. */
  readonly fields: Readonly<Record<string, string>>;
}

interface ConsoleVariables {
  readonly Variables: { view: View };
}

/** The routes of the console. */
export type ConsoleApp = Hono<ConsoleVariables>;

/** One request of a signed-in browser. */
export type ConsoleRequest<Path extends string = string> = Context<ConsoleVariables, Path>;

/** The address of a page of the console. Each segment is escaped. */
export function pathOf({ basePath }: Pick<View, "basePath">, ...segments: readonly string[]): string {
  return [basePath, ...segments.map(encodeURIComponent)].join("/");
}
