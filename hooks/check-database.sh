#!/bin/sh
# Waits until a database is usable: body of a `custom` step between database and applications.
#
# DATABASE_NAMESPACE     namespace (database)
# DATABASE_STATEFULSET   StatefulSet (postgresql)
# DATABASE_CHECK         command for a shell in pod NAME-0, such as "pg_isready -q"; success
#                        means usable. Without it readiness of all pods is enough.
# DATABASE_CONTAINER     container in that pod (the pod's default)
# WAIT_TIMEOUT           seconds to wait at most (120)
# KUBECTL                kubectl to use
#
# Needs get on statefulsets; create on pods/exec with DATABASE_CHECK.
set -eu

kubectl=${KUBECTL:-kubectl}
namespace=${DATABASE_NAMESPACE:-database}
name=${DATABASE_STATEFULSET:-postgresql}
timeout=${WAIT_TIMEOUT:-120}

begin=$(date +%s)
while :; do
  sizes=$("$kubectl" -n "$namespace" --request-timeout=20s get statefulset "$name" \
    -o 'go-template={{.spec.replicas}} {{or .status.readyReplicas 0}}') || sizes='unknown unknown'
  wanted=${sizes% *}
  ready=${sizes#* }
  if [ "$wanted" = 0 ]; then
    echo "check-database: $namespace/$name has size 0; it cannot be used" >&2
    exit 1
  fi
  if [ "$wanted" != unknown ] && [ "$ready" = "$wanted" ]; then
    if [ -z "${DATABASE_CHECK:-}" ]; then
      echo "check-database: $namespace/$name has $ready of $wanted pods ready"
      exit 0
    fi
    if "$kubectl" -n "$namespace" exec "$name-0" ${DATABASE_CONTAINER:+-c "$DATABASE_CONTAINER"} \
      -- sh -c "$DATABASE_CHECK"; then
      echo "check-database: $namespace/$name passed: $DATABASE_CHECK"
      exit 0
    fi
  fi
  if [ $(($(date +%s) - begin)) -ge "$timeout" ]; then
    echo "check-database: after ${timeout} s $namespace/$name is not usable ($ready of $wanted pods ready)" >&2
    exit 1
  fi
  sleep 2
done
