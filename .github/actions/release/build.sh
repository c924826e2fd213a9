#!/usr/bin/env bash
# build.sh TAG: checks that the tag is the version, and writes the package, its bill of materials and its notes to `release`.
set -euo pipefail
version=$(node -p 'require("./package.json").version')
if [ "$1" != "v$version" ]; then
  echo "::error::The tag is $1, but the version in package.json is $version."
  exit 1
fi

mkdir release
awk -v heading="## $version (" '/^## / { found = index($0, heading) == 1 && $0 !~ /unreleased/; next } found' CHANGELOG.md >release/notes.md
if [ ! -s release/notes.md ]; then
  echo "::error::CHANGELOG.md has no section '## $version (<date>)'."
  exit 1
fi

# The provenance of a package has to name the repository that package.json names.
npm pkg set repository.type=git "repository.url=git+https://github.com/$GITHUB_REPOSITORY.git"
npm run build
npm pack --pack-destination release
npm run --silent sbom >release/sbom.json
