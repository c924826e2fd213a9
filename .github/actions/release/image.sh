#!/usr/bin/env bash
# image.sh TAG: builds the image for both architectures, with its SBOM and provenance, and pushes it.
set -euo pipefail
image=ghcr.io/${GITHUB_REPOSITORY,,}
# The last stage runs one command on each architecture.
sudo apt-get update -qq
sudo apt-get install -y -qq --no-install-recommends qemu-user-static binfmt-support
docker login ghcr.io --username "$GITHUB_ACTOR" --password-stdin <<<"$GH_TOKEN"
docker buildx create --use
# A correction of an older version does not move `latest`. Tags of previews do not count.
newest=$(git tag --list 'v*' | sed -nE '/^v[0-9]+\.[0-9]+\.[0-9]+$/p' | sort --version-sort | tail -n 1)
tags=(--tag "$image:${1#v}")
if [ "$1" = "$newest" ]; then tags+=(--tag "$image:latest"); fi
docker buildx build --file lib/node/deploy/Dockerfile --platform linux/amd64,linux/arm64 --sbom=true --provenance=mode=max \
  "${tags[@]}" --metadata-file "$RUNNER_TEMP/image.json" --push .
{
  echo "name=$image"
  echo "digest=$(node -p "require('$RUNNER_TEMP/image.json')['containerimage.digest']")"
} >>"$GITHUB_OUTPUT"
