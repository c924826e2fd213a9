#!/usr/bin/env bash
# nats-server 2.15.3, JetStream, file storage, a window of two minutes for Nats-Msg-Id.
# Until a restart, the server remembers an identifier although its message was purged, deleted or acknowledged, so a
# publisher that fills a purged stream again gets "duplicate" and the stream stays empty. A restart forgets every
# identifier whose message is gone: a work queue then stores, and delivers, again what was acknowledged seconds before.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'GO'
module finding

go 1.25

require (
	github.com/nats-io/nats-server/v2 v2.15.3
	github.com/nats-io/nats.go v1.55.0
)
GO
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	options := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true}
	start := func() (*server.Server, nats.JetStreamContext) {
		running, err := server.NewServer(options)
		check(err)
		running.Start()
		if !running.ReadyForConnections(20 * time.Second) {
			panic("not ready")
		}
		connection, err := nats.Connect(running.ClientURL())
		check(err)
		stream, err := connection.JetStream()
		check(err)
		return running, stream
	}
	running, stream := start()
	for name, retention := range map[string]nats.RetentionPolicy{"KEPT": nats.LimitsPolicy, "WORK": nats.WorkQueuePolicy} {
		_, err := stream.AddStream(&nats.StreamConfig{Name: name, Subjects: []string{name}, Retention: retention, Duplicates: 2 * time.Minute})
		check(err)
	}
	publish := func(when, name string) {
		ack, err := stream.Publish(name, []byte("x"), nats.MsgId("1"))
		check(err)
		state, err := stream.StreamInfo(name)
		check(err)
		fmt.Printf("%s %s: duplicate %v, stored %d\n", name, when, ack.Duplicate, state.State.Msgs)
	}
	publish("first", "KEPT")
	check(stream.PurgeStream("KEPT"))
	publish("purged", "KEPT")
	publish("first", "WORK")
	subscription, err := stream.SubscribeSync("WORK", nats.Durable("worker"))
	check(err)
	message, err := subscription.NextMsg(20 * time.Second)
	check(err)
	check(message.AckSync())
	publish("acknowledged", "WORK")
	running.Shutdown()
	running.WaitForShutdown()
	running, stream = start()
	publish("restarted", "KEPT")
	publish("restarted", "WORK")
	running.Shutdown()
}
GO
expected='KEPT first: duplicate false, stored 1
KEPT purged: duplicate true, stored 0
WORK first: duplicate false, stored 1
WORK acknowledged: duplicate true, stored 0
KEPT restarted: duplicate false, stored 1
WORK restarted: duplicate false, stored 1'
go mod tidy >/dev/null 2>log || { cat log; exit 1; }
go run . "$folder/store" | tee seen
diff <(echo "$expected") seen
