#!/bin/sh
# Once after a failed run: says what failed, records it, and shows the last warnings of the
# namespace concerned. It runs inside run.cleanup_timeout and never fails itself.
#
# RECORD_FILE   a line is appended here; without it nothing is recorded
# KUBECTL       kubectl to use
#
# Needs list on events to show warnings; without it they are left out.
set -eu

kubectl=${KUBECTL:-kubectl}
step=${KZERO_FAILED_STEP:-}
line="$(date -u +%Y-%m-%dT%H:%M:%SZ) ${KZERO_COMMAND:-run}: ${KZERO_PHASE:-?} failed, run ${KZERO_RUN_ID:--}, step ${step:-none}"
echo "on-error: $line"
echo "on-error: ${KZERO_ERROR:-no error text}"
if [ -n "${RECORD_FILE:-}" ]; then
  echo "$line" >>"$RECORD_FILE" || echo "on-error: cannot write $RECORD_FILE" >&2
fi

# deployment.app/api has its namespace between dot and slash; hook:pre-down and down[2] have none.
case $step in
  *.*/*)
    namespace=${step#*.}
    namespace=${namespace%%/*}
    "$kubectl" -n "$namespace" --request-timeout=5s get events \
      --field-selector type=Warning --sort-by=.lastTimestamp --no-headers 2>/dev/null | tail -n 10 || true
    ;;
esac
exit 0
