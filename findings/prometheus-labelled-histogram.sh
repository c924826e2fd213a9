#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 (npm), a reader of /metrics for dashboards and tests, beside prometheus-client 0.26.0
# (PyPI), whose parser it is ported from.
# Of a histogram with a label, such as a route, npm's reader returns one histogram: without the label, without count and sum,
# and with the buckets of the last route; all others are gone. The same with the quantiles of a summary. Counters keep their
# labels, and the examples of its page have histograms and summaries without any, which are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts parse-prometheus-text-format@1.1.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile prometheus-client==0.26.0
cat >metrics <<'TEXT'
# TYPE requests_total counter
requests_total{route="/orders"} 9
requests_total{route="/cancel"} 2
# TYPE seconds histogram
seconds_bucket{route="/orders",le="0.1"} 7
seconds_bucket{route="/orders",le="+Inf"} 9
seconds_sum{route="/orders"} 3.5
seconds_count{route="/orders"} 9
seconds_bucket{route="/cancel",le="0.1"} 1
seconds_bucket{route="/cancel",le="+Inf"} 2
seconds_sum{route="/cancel"} 0.5
seconds_count{route="/cancel"} 2
# TYPE bytes summary
bytes{route="/orders",quantile="0.5"} 700
bytes_sum{route="/orders"} 6300
bytes_count{route="/orders"} 9
bytes{route="/cancel",quantile="0.5"} 20
bytes_sum{route="/cancel"} 40
bytes_count{route="/cancel"} 2
TEXT
cat >main.mjs <<'JS'
import { readFileSync } from "node:fs";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
for (const { name, metrics } of parsePrometheusTextFormat(readFileSync("metrics", "utf8")))
  console.log("npm ", name, JSON.stringify(metrics));
JS
cat >main.py <<'PY'
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(open("metrics").read()):
    print("PyPI", family.name, *[f"{sample.name}{list(sample.labels.values())}={sample.value:g}" for sample in family.samples])
PY
{ node main.mjs; python/bin/python main.py; } | tee seen
expected='npm  requests_total [{"value":"9","labels":{"route":"/orders"}},{"value":"2","labels":{"route":"/cancel"}}]
npm  seconds [{"buckets":{"0.1":"1","+Inf":"2"}}]
npm  bytes [{"quantiles":{"0.5":"20"}}]
PyPI requests requests_total['\''/orders'\'']=9 requests_total['\''/cancel'\'']=2
PyPI seconds seconds_bucket['\''/orders'\'', '\''0.1'\'']=7 seconds_bucket['\''/orders'\'', '\''+Inf'\'']=9 seconds_sum['\''/orders'\'']=3.5 seconds_count['\''/orders'\'']=9 seconds_bucket['\''/cancel'\'', '\''0.1'\'']=1 seconds_bucket['\''/cancel'\'', '\''+Inf'\'']=2 seconds_sum['\''/cancel'\'']=0.5 seconds_count['\''/cancel'\'']=2
PyPI bytes bytes['\''/orders'\'', '\''0.5'\'']=700 bytes_sum['\''/orders'\'']=6300 bytes_count['\''/orders'\'']=9 bytes['\''/cancel'\'', '\''0.5'\'']=20 bytes_sum['\''/cancel'\'']=40 bytes_count['\''/cancel'\'']=2'
diff <(echo "$expected") seen
