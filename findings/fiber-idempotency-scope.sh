#!/usr/bin/env bash
# github.com/gofiber/fiber/v2 v2.52.15 and its idempotency middleware.
# A key belongs to no path and no method: DELETE /2 with the key of DELETE /1 is answered with the response of the first and
# does not run. A 503 that the handler sends is remembered, so that a retry gets it again; one that it returns as an error
# is not.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'GO'
module finding

go 1.24

require github.com/gofiber/fiber/v2 v2.52.15
GO
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net/http/httptest"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/idempotency"
)

func main() {
	app, calls := fiber.New(), 0
	app.Use(idempotency.New())
	app.Delete("/:id", func(c *fiber.Ctx) error { return c.SendString("deleted " + c.Params("id")) })
	app.Post("/sent", func(c *fiber.Ctx) error { calls++; return c.Status(503).SendString(fmt.Sprint("call ", calls)) })
	app.Post("/returned", func(c *fiber.Ctx) error { calls++; return fiber.NewError(503, fmt.Sprint("call ", calls)) })
	call := func(method, path string, key int) {
		request := httptest.NewRequest(method, path, nil)
		request.Header.Set("X-Idempotency-Key", fmt.Sprintf("00000000-0000-0000-0000-%012d", key))
		response, err := app.Test(request, -1)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		fmt.Println(method, path, response.StatusCode, string(body))
	}
	call("DELETE", "/1", 1)
	call("DELETE", "/2", 1)
	call("POST", "/sent", 2)
	call("POST", "/sent", 2)
	call("POST", "/returned", 3)
	call("POST", "/returned", 3)
}
GO
go mod tidy >/dev/null 2>log || { cat log; exit 1; }
go run . | tee seen
expected='DELETE /1 200 deleted 1
DELETE /2 200 deleted 1
POST /sent 503 call 1
POST /sent 503 call 1
POST /returned 503 call 2
POST /returned 503 call 3'
diff <(echo "$expected") seen
