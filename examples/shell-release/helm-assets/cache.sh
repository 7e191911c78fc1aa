#!/bin/sh
# Installs the release of the step; kzero starts this in helm.workspace with the argument "up".
set -eu

[ "${1:-}" = up ] || { echo "cache.sh: expected the argument up" >&2; exit 1; }
"${HELM:-helm}" upgrade --install "${KZERO_RELEASE_NAME:?}" ./cache \
  -n "${KZERO_RELEASE_NAMESPACE:?}" --wait --timeout 5m
