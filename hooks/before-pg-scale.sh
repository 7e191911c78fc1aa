#!/bin/sh
# Work before a PostgreSQL StatefulSet changes its size: `pre` of its step on down and on up.
#
# On down: the database must be in a clear state, that is every wanted pod ready. Then, only if
# asked for, a checkpoint (so that the next start is short) and a dump of all databases.
# On up: no claim of the database may be lost or on its way out, for a pod would hang on it.
#
# PG_CHECKPOINT=1   run CHECKPOINT before scaling down
# PG_DUMP_DIR       folder for pg_dumpall; the file is named after namespace, name and run
# PG_POD            pod to work in (NAME-0)
# PG_CONTAINER      container in it (the pod's default)
# PG_USER           role (postgres); it must be allowed in by the local socket
# KUBECTL           kubectl to use
#
# Needs get on statefulsets, pods and persistentvolumeclaims; create on pods/exec if something
# is to be run in the pod.
set -eu

kubectl=${KUBECTL:-kubectl}
phase=${KZERO_PHASE:?is set by kzero}
namespace=${KZERO_STEP_NAMESPACE:?is set by kzero for hooks of a step}
name=${KZERO_STEP_NAME:?is set by kzero for hooks of a step}
pod=${PG_POD:-$name-0}
user=${PG_USER:-postgres}

get() { "$kubectl" -n "$namespace" --request-timeout=20s get "$@"; }
in_pod() { "$kubectl" -n "$namespace" exec "$pod" ${PG_CONTAINER:+-c "$PG_CONTAINER"} -- "$@"; }
fail() { echo "before-pg-scale: $*" >&2; exit 1; }

sizes=$(get statefulset "$name" -o 'go-template={{.spec.replicas}} {{or .status.readyReplicas 0}}') ||
  fail "cannot read statefulset $namespace/$name"
wanted=${sizes% *}
ready=${sizes#* }

if [ "$phase" = up ]; then
  templates=$(get statefulset "$name" \
    -o 'go-template={{range .spec.volumeClaimTemplates}}{{.metadata.name}} {{end}}') ||
    fail "cannot read statefulset $namespace/$name"
  for template in $templates; do
    claim=$template-$name-0
    state=$(get pvc "$claim" --ignore-not-found \
      -o 'go-template={{.status.phase}}{{with .metadata.deletionTimestamp}} Terminating{{end}}') ||
      fail "cannot read claim $namespace/$claim"
    case $state in
      '') echo "before-pg-scale: claim $claim does not exist, the database will start empty" ;;
      Bound | Pending) echo "before-pg-scale: claim $claim is $state" ;;
      *) fail "claim $namespace/$claim is $state; mend that before the database wakes" ;;
    esac
  done
  exit 0
fi

if [ "$wanted" = 0 ]; then
  echo "before-pg-scale: $namespace/$name is at 0 already, nothing to do"
  exit 0
fi
[ "$ready" = "$wanted" ] ||
  fail "$namespace/$name has $ready of $wanted pods ready; find out why before parking it"

if [ "${PG_CHECKPOINT:-0}" = 1 ]; then
  in_pod psql -X -q -U "$user" -d postgres -c CHECKPOINT || fail "CHECKPOINT failed in $pod"
  echo "before-pg-scale: checkpoint done in $pod"
fi

if [ -n "${PG_DUMP_DIR:-}" ]; then
  mkdir -p "$PG_DUMP_DIR"
  file=$PG_DUMP_DIR/$namespace-$name-${KZERO_RUN_ID:-manual}.sql
  umask 077
  # Under its own name only when it is whole.
  in_pod pg_dumpall -U "$user" >"$file.part" || fail "pg_dumpall failed in $pod"
  tail -n 5 "$file.part" | grep -q 'database cluster dump complete' ||
    fail "the dump $file.part has no end; it is not used"
  mv "$file.part" "$file"
  echo "before-pg-scale: dump written to $file"
fi
echo "before-pg-scale: $namespace/$name is ready to be parked ($ready of $wanted pods ready)"
