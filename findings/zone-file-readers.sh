#!/usr/bin/env bash
# Readers of zone files: dnspython 2.9.2, dnslib 0.9.26 and zonefile-parser 0.1.20 (PyPI), dnsz 4.5.2, dns-zonefile 0.3.2 and
# zone-file 1.0.0 (npm).
# A line without an owner has that of the line before (RFC 1035 5.1). zonefile-parser gives the second address of a host to
# the apex, zone-file to a host named "IN" or "300". After a second $ORIGIN, dns-zonefile and zone-file return only the last
# one, with all names relative to it: "orders.example.com" becomes "orders.eu.example.com". None of them reports an error, so
# whoever moves a zone with them publishes other hosts. dnspython, dnslib and dnsz are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts dnsz@4.5.2 dns-zonefile@0.3.2 zone-file@1.0.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile dnspython==2.9.2 dnslib==0.9.26 zonefile-parser==0.1.20
head='$ORIGIN example.com.
$TTL 3600
@ IN SOA ns1.example.com. admin.example.com. ( 1 7200 3600 1209600 300 )
@ IN NS ns1.example.com.'
printf '%s\norders IN A 192.0.2.1\n  IN A 192.0.2.2\n  300 IN A 192.0.2.3\n' "$head" >owner
printf '%s\norders IN A 192.0.2.1\n$ORIGIN eu.example.com.\nshop IN A 192.0.2.2\n' "$head" >origin
cat >main.mjs <<'JS'
import { readFileSync } from "node:fs";
import { parseZone } from "dnsz";
import dnsZonefile from "dns-zonefile";
import zoneFile from "zone-file";

const readers = {
  dnsz: (text) => parseZone(text).records.filter(({ type }) => type === "A").map(({ name, content }) => [name, content]),
  "dns-zonefile": (text) => named(dnsZonefile.parse(text)),
  "zone-file": (text) => named(zoneFile.parseZoneFile(text)),
};
const named = ({ $origin, a }) => a.map(({ name, ip }) => [name === "@" ? $origin : `${name}.${$origin}`, ip]);
for (const file of ["owner", "origin"])
  for (const [reader, read] of Object.entries(readers))
    console.log(file, reader, ...read(readFileSync(file, "utf8")).map(([name, ip]) => `${name.replace(/\.$/, "")}=${ip}`));
JS
cat >main.py <<'PY'
import dns.zone, dnslib, zonefile_parser

readers = {
    "dnspython": lambda text: [(str(name), data.address) for name, _, data
        in dns.zone.from_text(text, "example.com.", relativize=False).iterate_rdatas("A")],
    "dnslib": lambda text: [(str(r.rname), str(r.rdata)) for r in dnslib.RR.fromZone(text) if r.rtype == dnslib.QTYPE.A],
    "zonefile-parser": lambda text: [(r.name, r.rdata["value"]) for r in zonefile_parser.parse(text) if r.rtype == "A"],
}
for file in ["owner", "origin"]:
    for reader, read in readers.items():
        print(file, reader, *[f"{name.rstrip('.')}={ip}" for name, ip in read(open(file).read())])
PY
{ node main.mjs; python/bin/python -W ignore main.py; } | tee seen
expected='owner dnsz orders.example.com=192.0.2.1 orders.example.com=192.0.2.2 orders.example.com=192.0.2.3
owner dns-zonefile orders.example.com=192.0.2.1 orders.example.com=192.0.2.2 orders.example.com=192.0.2.3
owner zone-file orders.example.com=192.0.2.1 IN.example.com=192.0.2.2 300.example.com=192.0.2.3
origin dnsz orders.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2
origin dns-zonefile orders.eu.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2
origin zone-file orders.eu.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2
owner dnspython orders.example.com=192.0.2.1 orders.example.com=192.0.2.2 orders.example.com=192.0.2.3
owner dnslib orders.example.com=192.0.2.1 orders.example.com=192.0.2.2 orders.example.com=192.0.2.3
owner zonefile-parser orders.example.com=192.0.2.1 example.com=192.0.2.2 example.com=192.0.2.3
origin dnspython orders.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2
origin dnslib orders.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2
origin zonefile-parser orders.example.com=192.0.2.1 shop.eu.example.com=192.0.2.2'
diff <(echo "$expected") seen
