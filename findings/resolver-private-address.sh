#!/usr/bin/env bash
# What resolvers that hide private addresses answer (Debian bookworm: Unbound 1.17.1 with private-address, dnsmasq 2.90 with
# --stop-dns-rebind, Knot Resolver 5.6.0 with its rebinding module; the zones are served by NSD 4.6.1).
# Of a public and a private address, Unbound keeps the public one, dnsmasq answers NOERROR without any and without a SOA, as
# if the host did not exist, and Knot Resolver REFUSED. Knot Resolver also refuses a host that is public, and its CAA record,
# if the address of the zone's name server in the additional section is private: the zone is gone, and a check of its CAA
# records fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .

PATH=$PATH:/usr/sbin
for program in nsd unbound dnsmasq kresd dig; do
  command -v "$program" >/dev/null ||
    { echo "needs: apt-get install nsd unbound dnsmasq-base knot-resolver bind9-dnsutils" >&2; exit 2; }
done
read -r nsd unbound dnsmasq kresd < <(node -e '
  const dgram = require("dgram");
  const sockets = [1, 2, 3, 4].map(() => dgram.createSocket("udp4").bind(0, "127.0.0.1"));
  setTimeout(() => { console.log(...sockets.map((s) => s.address().port)); process.exit(); }, 300)')
zone() {
  cat <<ZONE
\$ORIGIN $1.
@ 300 SOA ns hostmaster 1 3600 600 86400 300
@ 300 NS ns
ns 300 A $2
mixed 300 A 10.0.0.5
mixed 300 A 93.184.216.7
public 300 A 93.184.216.7
public 300 CAA 0 issue "letsencrypt.org"
ZONE
}
zone outside.example 93.184.216.1 >outside
zone inside.example 10.0.0.1 >inside
cat >nsd.conf <<CONF
server:
  ip-address: 127.0.0.1@$nsd
  username: ""
  zonesdir: "$folder"
  database: ""
  pidfile: "$folder/nsd.pid"
  xfrdfile: ""
  zonelistfile: "$folder/zone.list"
remote-control:
  control-enable: no
zone:
  name: outside.example
  zonefile: outside
zone:
  name: inside.example
  zonefile: inside
CONF
cat >unbound.conf <<CONF
server:
  interface: 127.0.0.1@$unbound
  username: ""
  chroot: ""
  directory: "$folder"
  pidfile: "$folder/unbound.pid"
  do-not-query-localhost: no
  use-syslog: no
  module-config: "iterator"
  private-address: 10.0.0.0/8
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@$nsd
CONF
cat >kresd.conf <<CONF
net.listen('127.0.0.1', $kresd, { kind = 'dns' })
modules.load('rebinding < iterate')
trust_anchors.remove('.')
policy.add(policy.all(policy.FORWARD({'127.0.0.1@$nsd'})))
CONF
nsd -d -c nsd.conf >log 2>&1 &
unbound -d -c unbound.conf >>log 2>&1 &
dnsmasq --keep-in-foreground --port="$dnsmasq" --no-resolv --no-hosts --server="127.0.0.1#$nsd" --stop-dns-rebind \
  --conf-file=/dev/null --pid-file --user="$(id -un)" >>log 2>&1 &
kresd -n -c kresd.conf >>log 2>&1 &
trap 'kill $(jobs -p); wait; rm -rf "$folder"' EXIT
ask() { dig +tries=1 +time=5 -p "$1" @127.0.0.1 "$2" "$3"; }
for port in $nsd $unbound $dnsmasq $kresd; do
  for _ in $(seq 50); do ask "$port" public.outside.example A >/dev/null && break || sleep 0.2; done
done
for resolver in unbound dnsmasq kresd; do
  for question in "mixed.outside.example A" "public.outside.example A" "public.inside.example A" "public.inside.example CAA"; do
    read -r name type <<<"$question"
    ask "${!resolver}" "$name" "$type" | awk -v asked="$resolver $question" '
      /status:/ { sub(",", "", $6); status = $6 }
      /^;; [A-Z]+ SECTION/ { section = $2 }
      /^[a-z]/ && section == "ANSWER" { answer = answer " " $5 ($4 == "CAA" ? " " $6 " " $7 : "") }
      END { print asked ": " status answer }'
  done
done | tee seen
expected='unbound mixed.outside.example A: NOERROR 93.184.216.7
unbound public.outside.example A: NOERROR 93.184.216.7
unbound public.inside.example A: NOERROR 93.184.216.7
unbound public.inside.example CAA: NOERROR 0 issue "letsencrypt.org"
dnsmasq mixed.outside.example A: NOERROR
dnsmasq public.outside.example A: NOERROR 93.184.216.7
dnsmasq public.inside.example A: NOERROR 93.184.216.7
dnsmasq public.inside.example CAA: NOERROR 0 issue "letsencrypt.org"
kresd mixed.outside.example A: REFUSED
kresd public.outside.example A: NOERROR 93.184.216.7
kresd public.inside.example A: REFUSED
kresd public.inside.example CAA: REFUSED'
diff <(echo "$expected") seen
