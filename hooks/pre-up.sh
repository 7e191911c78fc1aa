#!/bin/sh
# Before anything wakes: makes sure that there are nodes to wake on, if asked to.
#
# NODES_WANTED   ready nodes that must be there; 0 asks nothing (0)
# KUBECTL        kubectl to use
#
# Needs list on nodes when NODES_WANTED is above 0.
set -eu

kubectl=${KUBECTL:-kubectl}
wanted=${NODES_WANTED:-0}
case $wanted in
  '' | *[!0-9]*) echo "pre-up: NODES_WANTED is a number, not \"$wanted\"" >&2; exit 1 ;;
esac
if [ "$wanted" -eq 0 ]; then
  echo "pre-up: run ${KZERO_RUN_ID:--} by ${KZERO_OS_USER:-unknown}"
  exit 0
fi
conditions=$("$kubectl" --request-timeout=20s get nodes \
  -o 'go-template={{range .items}}{{range .status.conditions}}{{if eq .type "Ready"}}{{.status}} {{end}}{{end}}{{end}}') || {
  echo "pre-up: cannot list nodes" >&2
  exit 1
}
ready=0
for condition in $conditions; do
  if [ "$condition" = True ]; then ready=$((ready + 1)); fi
done
if [ "$ready" -lt "$wanted" ]; then
  echo "pre-up: $ready nodes are ready, $wanted are wanted" >&2
  exit 1
fi
echo "pre-up: $ready nodes are ready"
