#!/usr/bin/env bash
# preview.sh STACK: previews a stack, and passes the text on as the output of the step that is named after the stack.
set -uo pipefail
npm run --silent pulumi -- preview --stack "$1" --diff --color never --non-interactive 2>&1 | tee "${RUNNER_TEMP:-/tmp}/preview.txt"
status=$?
delimiter=$(node -p 'crypto.randomUUID()')
{
  echo "$1<<$delimiter"
  # A comment has at most 65,536 characters for both stacks.
  tail -c 30000 "${RUNNER_TEMP:-/tmp}/preview.txt"
  echo
  echo "$delimiter"
} >>"$GITHUB_OUTPUT"
exit "$status"
