#!/usr/bin/env bash
# install.sh: installs the Pulumi CLI and both providers in the versions of package.json, after verifying their checksums.
set -euo pipefail
archives=~/.cache/pulumi-archives
mkdir -p "$archives"

versions='const { devDependencies: v } = require("./package.json"); [v.pulumi, v["@pulumi/aws"], v["@pulumi/cloudflare"]].join(" ")'
read -r cli_version aws_version cloudflare_version < <(node -p "$versions")

# fetch FILE URL SHA256: downloads an archive unless it is cached, and stops if it is not the expected one.
fetch() {
  if [[ ! $3 =~ ^[0-9a-f]{64}$ ]]; then
    echo "::error::The SHA-256 of $1 is not set. Take it from the release's checksums, and set the repository's variable."
    exit 1
  fi
  [ -f "$archives/$1" ] || curl -fsSL --retry 3 -o "$archives/$1" "$2/$1"
  echo "$3  $archives/$1" | sha256sum --check --quiet
}

cli=pulumi-v$cli_version-linux-x64.tar.gz
aws=pulumi-resource-aws-v$aws_version-linux-amd64.tar.gz
cloudflare=pulumi-resource-cloudflare-v$cloudflare_version-linux-amd64.tar.gz
fetch "$cli" https://get.pulumi.com/releases/sdk "$CLI_SHA256"
fetch "$aws" https://get.pulumi.com/releases/plugins "$AWS_SHA256"
fetch "$cloudflare" https://get.pulumi.com/releases/plugins "$CLOUDFLARE_SHA256"

home=~/.pulumi/versions/$cli_version/bin
mkdir -p "$home"
tar -xzf "$archives/$cli" --strip-components=1 -C "$home"
npm run --silent pulumi -- plugin install resource aws "$aws_version" --file "$archives/$aws"
npm run --silent pulumi -- plugin install resource cloudflare "$cloudflare_version" --file "$archives/$cloudflare"
