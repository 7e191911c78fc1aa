#!/bin/sh
# Work after a PostgreSQL StatefulSet has changed its size: `post` of its step on down and on up.
#
# On down: the claims must still be there, for the data is in them.
# On up: every wanted pod must be ready and, if asked for, the server must take connections.
#
# PG_CHECK=1     run pg_isready in the pod until it succeeds
# PG_POD         pod to work in (NAME-0)
# PG_CONTAINER   container in it (the pod's default)
# PG_USER        role for pg_isready (postgres)
# WAIT_TIMEOUT   seconds to wait on up at most (120)
# KUBECTL        kubectl to use
#
# Needs get on statefulsets and persistentvolumeclaims; create on pods/exec with PG_CHECK.
set -eu

kubectl=${KUBECTL:-kubectl}
phase=${KZERO_PHASE:?is set by kzero}
namespace=${KZERO_STEP_NAMESPACE:?is set by kzero for hooks of a step}
name=${KZERO_STEP_NAME:?is set by kzero for hooks of a step}
pod=${PG_POD:-$name-0}
timeout=${WAIT_TIMEOUT:-120}

get() { "$kubectl" -n "$namespace" --request-timeout=20s get "$@"; }
in_pod() { "$kubectl" -n "$namespace" exec "$pod" ${PG_CONTAINER:+-c "$PG_CONTAINER"} -- "$@"; }
fail() { echo "after-pg-scale: $*" >&2; exit 1; }

if [ "$phase" = down ]; then
  templates=$(get statefulset "$name" \
    -o 'go-template={{range .spec.volumeClaimTemplates}}{{.metadata.name}} {{end}}') ||
    fail "cannot read statefulset $namespace/$name"
  for template in $templates; do
    claim=$template-$name-0
    state=$(get pvc "$claim" --ignore-not-found \
      -o 'go-template={{.status.phase}}{{with .metadata.deletionTimestamp}} Terminating{{end}}') ||
      fail "cannot read claim $namespace/$claim"
    [ "$state" = Bound ] ||
      fail "claim $namespace/$claim is ${state:-gone} after scaling down; the data may be at risk"
    echo "after-pg-scale: claim $claim is still Bound"
  done
  exit 0
fi

begin=$(date +%s)
while :; do
  # An answer that does not come says nothing; it is asked for again.
  sizes=$(get statefulset "$name" \
    -o 'go-template={{.spec.replicas}} {{or .status.readyReplicas 0}}') || sizes='unknown unknown'
  wanted=${sizes% *}
  ready=${sizes#* }
  if [ "$wanted" = 0 ]; then
    echo "after-pg-scale: $namespace/$name stays at 0"
    exit 0
  fi
  if [ "$wanted" != unknown ] && [ "$ready" = "$wanted" ]; then
    if [ "${PG_CHECK:-0}" != 1 ]; then
      echo "after-pg-scale: $namespace/$name has $ready of $wanted pods ready"
      exit 0
    fi
    if in_pod pg_isready -q -U "${PG_USER:-postgres}"; then
      echo "after-pg-scale: PostgreSQL in $namespace/$pod takes connections"
      exit 0
    fi
  fi
  if [ $(($(date +%s) - begin)) -ge "$timeout" ]; then
    fail "after ${timeout} s $namespace/$name is not usable ($ready of $wanted pods ready)"
  fi
  sleep 2
done
