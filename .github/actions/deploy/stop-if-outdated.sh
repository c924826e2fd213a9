#!/usr/bin/env bash
# stop-if-outdated.sh: stops if a later run of this workflow has succeeded. Runs are approved in any order, and an older
# commit must not replace a newer one.
set -euo pipefail
runs="repos/$GITHUB_REPOSITORY/actions/workflows/deploy.yml/runs?branch=main&status=success&per_page=1"
newest=$(gh api "$runs" --jq '.workflow_runs[0].run_number // 0')
if [ "$newest" -gt "$GITHUB_RUN_NUMBER" ]; then
  echo "::error::Run $newest has deployed a newer commit. To go back, revert the commits on main."
  exit 1
fi
