#!/usr/bin/env bash
# standardwebhooks 1.1.1 (npm), 1.1.0 (PyPI) and the same project's library for Go, v0.0.1.
# A secret is "whsec_" and base64. Without its padding, which tools for secrets often strip, npm and PyPI read it and sign
# alike; Go refuses the secret. So a sender in one language and a receiver in another can disagree about one secret.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts standardwebhooks@1.1.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile standardwebhooks==1.1.0
cat >main.mjs <<'JS'
import { Webhook } from "standardwebhooks";
for (const secret of process.argv.slice(2))
  console.log("npm ", new Webhook(secret).sign("msg_1", new Date(1_700_000_000_000), "{}"));
JS
cat >main.py <<'PY'
import datetime, sys
from standardwebhooks import Webhook
for secret in sys.argv[1:]:
    print("PyPI", Webhook(secret).sign("msg_1", datetime.datetime.fromtimestamp(1_700_000_000), "{}"))
PY
cat >go.mod <<'GO'
module finding

go 1.24

require github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
GO
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	for _, secret := range os.Args[1:] {
		webhook, err := webhooks.NewWebhook(secret)
		if err != nil {
			fmt.Println("Go  ", err)
			continue
		}
		signature, _ := webhook.Sign("msg_1", time.Unix(1_700_000_000, 0), []byte("{}"))
		fmt.Println("Go  ", signature)
	}
}
GO
secrets=(whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw== whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw)
go mod tidy >/dev/null 2>log || { cat log; exit 1; }
{
  node main.mjs "${secrets[@]}"
  TZ=UTC python/bin/python main.py "${secrets[@]}"
  go run . "${secrets[@]}"
} | tee seen
expected='npm  v1,RKVUmZhCsA0tUsArvHfsQ5BpfbHjfIgaTg/rAsihZcY=
npm  v1,RKVUmZhCsA0tUsArvHfsQ5BpfbHjfIgaTg/rAsihZcY=
PyPI v1,RKVUmZhCsA0tUsArvHfsQ5BpfbHjfIgaTg/rAsihZcY=
PyPI v1,RKVUmZhCsA0tUsArvHfsQ5BpfbHjfIgaTg/rAsihZcY=
Go   v1,RKVUmZhCsA0tUsArvHfsQ5BpfbHjfIgaTg/rAsihZcY=
Go   unable to create webhook, err: illegal base64 data at input byte 28'
diff <(echo "$expected") seen
