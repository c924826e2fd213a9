#!/usr/bin/env bash
# awslambdaric 4.2.2, the runtime client of AWS Lambda for Python.
# json.dumps refuses a Decimal. This client writes one into the response digit by digit: beyond what a double holds, with
# its trailing zeros, with an exponent. So a price of Decimal("1.10") is 1.10 in JSON. NaN is written as NaN, which no JSON
# parser has to accept.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile awslambdaric==4.2.2
cat >main.py <<'PY'
from decimal import Decimal

from awslambdaric.lambda_runtime_marshaller import to_json

for value in [Decimal("1.10"), Decimal("9007199254740993.5"), Decimal("1E+30"), Decimal("9223372036854775807"), float("nan")]:
    print(to_json({"value": value}))
PY
expected='{"value": 1.10}
{"value": 9007199254740993.5}
{"value": 1E+30}
{"value": 9223372036854775807}
{"value": NaN}'
python/bin/python main.py | tee seen
diff <(echo "$expected") seen
