import { PLANS } from "../../lib/plans/plan-limits.ts";
import { type MetricReference, type MonitoredResources, metricsOf } from "./alarms.ts";

type Line = readonly [metric: MetricReference, stat: string, label: string];

export function dashboardBody(monitored: MonitoredResources, region: unknown) {
  const { functions, tables, plans = PLANS } = monitored;
  const { gateway, ofFunction, ofTable, own } = metricsOf(monitored);
  const requests = (metricName: string, label: string): Line => [gateway(metricName), "Sum", label];
  const byPlan = (metricName: string) =>
    plans.map((plan): Line => [own(metricName, { Plan: plan }), "Sum", plan]);
  const byFunction = (metricName: string, stat: string) =>
    Object.entries(functions).map(([role, name]): Line => [ofFunction(name, metricName), stat, role]);
  const byTable = (metricName: string) =>
    Object.entries(tables).map(([label, name]): Line => [ofTable(name, metricName), "Sum", label]);
  const ofChanges = (kind: string): Line => [own(`Changes${kind}`), "Maximum", kind.toLowerCase()];
  const firstByte = ["p50", "p95", "p99"].map((stat): Line => [own("ListFirstByte"), stat, stat]);

  const graphs: (readonly [title: string, lines: readonly Line[]])[] = [
    ["Requests", [requests("Count", "all"), requests("4XXError", "4xx"), requests("5XXError", "5xx")]],
    ["Time to first byte of the list (ms)", firstByte],
    ["Orders in a list", [[own("ListRows"), "Maximum", "most"]]],
    ["Admitted requests by plan", byPlan("Admitted")],
    ["Rejected requests (429) by plan", byPlan("Rejected")],
    ["Bans by plan", byPlan("Bans")],
    ["Function invocations", byFunction("Invocations", "Sum")],
    ["Concurrent executions", byFunction("ConcurrentExecutions", "Maximum")],
    ["Function errors", byFunction("Errors", "Sum")],
    ["Function throttles", byFunction("Throttles", "Sum")],
    ["Function duration (ms); for the list, of the whole stream", byFunction("Duration", "p95")],
    ["Read units", byTable("ConsumedReadCapacityUnits")],
    ["Write units", byTable("ConsumedWriteCapacityUnits")],
    ["Table throttles", [...byTable("ReadThrottleEvents"), ...byTable("WriteThrottleEvents")]],
  ];
  if (functions.events !== undefined)
    graphs.push(["Changes that wait, and that failed", ["Waiting", "Failed"].map(ofChanges)]);
  const widgets = graphs.map(([title, lines], index) => {
    const metrics = lines.map(([{ namespace, metricName, dimensions }, stat, label]) => [
      ...[namespace, metricName, ...Object.entries(dimensions).flat()],
      { stat, label },
    ]);
    const place = { x: (index % PER_ROW) * WIDTH, y: Math.floor(index / PER_ROW) * HEIGHT };
    const properties = { title, region, view: "timeSeries", period: 300, metrics };
    return { type: "metric", ...place, width: WIDTH, height: HEIGHT, properties };
  });
  return { widgets };
}

const WIDTH = 8;
const HEIGHT = 6;
const PER_ROW = 3;
