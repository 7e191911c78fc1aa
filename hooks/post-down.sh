#!/bin/sh
# When everything is parked: records it.
#
# RECORD_FILE   a line is appended here; without it nothing is recorded
set -eu

line="$(date -u +%Y-%m-%dT%H:%M:%SZ) ${KZERO_COMMAND:-down}: all is parked, run ${KZERO_RUN_ID:--}"
echo "post-down: $line"
if [ -n "${RECORD_FILE:-}" ]; then echo "$line" >>"$RECORD_FILE"; fi
