#!/bin/sh
# When everything is awake: asks the application whether it is well, and records it.
#
# SMOKE_URL     address that must answer with success; without it nothing is asked
# RECORD_FILE   a line is appended here; without it nothing is recorded
set -eu

if [ -n "${SMOKE_URL:-}" ]; then
  # A minute in all: a service that has just become ready may need a moment.
  curl --fail --silent --show-error --output /dev/null \
    --max-time 10 --retry 5 --retry-delay 5 --retry-connrefused --retry-max-time 60 "$SMOKE_URL" || {
    echo "post-up: $SMOKE_URL does not answer" >&2
    exit 1
  }
  echo "post-up: $SMOKE_URL answers"
fi
line="$(date -u +%Y-%m-%dT%H:%M:%SZ) ${KZERO_COMMAND:-up}: all is awake, run ${KZERO_RUN_ID:--}"
echo "post-up: $line"
if [ -n "${RECORD_FILE:-}" ]; then echo "$line" >>"$RECORD_FILE"; fi
