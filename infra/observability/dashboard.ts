import { PLANS } from "../../lib/plans/plan-limits.ts";
import {
  functionMetric,
  gatewayMetric,
  type Metric,
  type MonitoredResources,
  ownMetric,
  tableMetric,
} from "./alarms.ts";

/** A graph of the dashboard, in CloudWatch's words. */
interface Widget {
  readonly type: "metric";
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: object;
}

/** One line of a graph. */
interface Line {
  readonly metric: Metric;
  readonly stat: string;
  readonly label: string;
}

/** What the dashboard shows, row by row: what clients see, the functions, the tables. */
export function dashboardBody(
  watched: MonitoredResources,
  region: unknown,
): { readonly widgets: readonly Widget[] } {
  const { functions, tables } = watched;
  const byFunction = (metricName: string, stat: string) =>
    Object.entries(functions).map(([role, name]) => ({
      metric: functionMetric(name, metricName),
      stat,
      label: role,
    }));
  const byTable = (metricName: string) =>
    Object.entries(tables).map(([label, name]) => ({
      metric: tableMetric(name, metricName),
      stat: "Sum",
      label,
    }));
  const gateway = (metricName: string, label: string) => ({
    metric: gatewayMetric(watched, metricName),
    stat: "Sum",
    label,
  });
  const firstByte = ["p50", "p95", "p99"].map((stat) => ({
    metric: ownMetric(watched, "ListFirstByte"),
    stat,
    label: stat,
  }));
  const byPlan = (metricName: string) =>
    PLANS.map((plan) => ({
      metric: ownMetric(watched, metricName, { Plan: plan }),
      stat: "Sum",
      label: plan,
    }));

  const graphs: readonly (readonly [title: string, lines: readonly Line[]])[] = [
    ["Requests", [gateway("Count", "all"), gateway("4XXError", "4xx"), gateway("5XXError", "5xx")]],
    ["Time to the first byte of the list (ms)", firstByte],
    ["Requests let in, by plan", byPlan("Admitted")],
    ["Requests over the limit, by plan", byPlan("Refused")],
    ["Bans, by plan", byPlan("Bans")],
    ["Calls of the functions", byFunction("Invocations", "Sum")],
    ["Calls at once", byFunction("ConcurrentExecutions", "Maximum")],
    ["Errors of the functions", byFunction("Errors", "Sum")],
    ["Throttles of the functions", byFunction("Throttles", "Sum")],
    ["Duration (ms); of the list, its length", byFunction("Duration", "p95")],
    ["Read units", byTable("ConsumedReadCapacityUnits")],
    ["Write units", byTable("ConsumedWriteCapacityUnits")],
    ["Throttles of the tables", [...byTable("ReadThrottleEvents"), ...byTable("WriteThrottleEvents")]],
  ];
  return { widgets: graphs.map(([title, lines], index) => widget(index, title, lines, region)) };
}

const WIDTH = 8;
const HEIGHT = 6;
const IN_A_ROW = 3;

function widget(index: number, title: string, lines: readonly Line[], region: unknown): Widget {
  const metrics = lines.map(({ metric: { namespace, metricName, dimensions }, stat, label }) => [
    namespace,
    metricName,
    ...Object.entries(dimensions).flat(),
    { stat, label },
  ]);
  return {
    type: "metric",
    x: (index % IN_A_ROW) * WIDTH,
    y: Math.floor(index / IN_A_ROW) * HEIGHT,
    width: WIDTH,
    height: HEIGHT,
    properties: { title, region, view: "timeSeries", period: 300, metrics },
  };
}
