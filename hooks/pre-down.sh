#!/bin/sh
# Before anything is parked: says who parks, and holds off while a freeze file exists.
#
# FREEZE_FILE   nothing is parked while this file exists; its text says why (./freeze)
# RECORD_FILE   a line is appended here; without it nothing is recorded
set -eu

freeze=${FREEZE_FILE:-./freeze}
if [ -e "$freeze" ]; then
  echo "pre-down: frozen by $freeze: $(head -n 1 "$freeze" 2>/dev/null || true)" >&2
  exit 1
fi
line="$(date -u +%Y-%m-%dT%H:%M:%SZ) ${KZERO_COMMAND:-down}: parking begins, run ${KZERO_RUN_ID:--}, by ${KZERO_OS_USER:-unknown} for ${KZERO_CLIENT_ID:--}"
echo "pre-down: $line"
if [ -n "${RECORD_FILE:-}" ]; then echo "$line" >>"$RECORD_FILE"; fi
