#!/bin/sh
# Fails unless another Deployment is down: wanted size 0, no replica in its status, and no pod
# left, Terminating ones included. A guard for `pre` of a step that must not go first.
#
# UPSTREAM_DEPLOYMENT   name of the Deployment that must be down (required)
# UPSTREAM_NAMESPACE    its namespace (that of the step)
# KUBECTL               kubectl to use
#
# kzero does not know what depends on what, so a wrapper names the Deployment:
#
#   UPSTREAM_DEPLOYMENT=consumer exec /bin/sh ./hooks/assert-deployment-replicas-zero.sh
#
# An API that does not answer, or may not be asked, fails the guard: silence is not zero. A
# Deployment that does not exist passes only when the API server itself said so.
#
# Needs get on deployments, and list on replicasets and pods.
# shellcheck disable=SC2016 # dollar signs in single quotes are for go-template and awk
set -eu

kubectl=${KUBECTL:-kubectl}
upstream=${UPSTREAM_DEPLOYMENT:?name the Deployment that must be down}
namespace=${UPSTREAM_NAMESPACE:-${KZERO_STEP_NAMESPACE:?is set by kzero for hooks of a step}}

get() { "$kubectl" -n "$namespace" --request-timeout=20s get "$@"; }
fail() { echo "guard: $*" >&2; exit 1; }

# Uid, the three sizes, and the label selector, which may hold blanks and is last.
workload='{{.metadata.uid}} {{.spec.replicas}} {{or .status.replicas 0}} {{or .status.readyReplicas 0}} {{range $key, $value := .spec.selector.matchLabels}}{{$key}}={{$value}},{{end}}{{range .spec.selector.matchExpressions}}{{if eq .operator "Exists"}}{{.key}},{{else if eq .operator "DoesNotExist"}}!{{.key}},{{else}}{{.key}} {{if eq .operator "In"}}in{{else}}notin{{end}} ({{range $i, $value := .values}}{{if $i}},{{end}}{{$value}}{{end}}),{{end}}{{end}}'
sets='{{range .items}}set {{.metadata.uid}} {{range .metadata.ownerReferences}}{{if .controller}}{{.uid}}{{end}}{{end}}{{"\n"}}{{end}}'
pods='{{range .items}}{{$pod := .metadata.name}}{{$hash := "-"}}{{with .metadata.labels}}{{with index . "pod-template-hash"}}{{$hash = .}}{{end}}{{end}}{{$owner := "- - -"}}{{range .metadata.ownerReferences}}{{if .controller}}{{$owner = printf "%s %s %s" .kind .name .uid}}{{end}}{{end}}pod {{$pod}} {{$owner}} {{$hash}} {{.status.phase}}{{with .metadata.deletionTimestamp}}, Terminating, due to be gone at {{.}}{{end}}{{"\n"}}{{end}}'
owned='
  $1 == "set" { owner[$2] = $3; next }
  $1 == "pod" && $3 == "ReplicaSet" {
    if ($5 in owner) { if (owner[$5] != uid) next }
    else if ($4 != name "-" $6) next
    line = "pod " $2 ": " $7
    for (i = 8; i <= NF; i++) line = line " " $i
    print line
  }'

answer=$(get deployment "$upstream" --ignore-not-found -o "go-template=$workload") ||
  fail "cannot read deployment $namespace/$upstream; that is no proof that it is down"
if [ -z "$answer" ]; then
  echo "guard: deployment $namespace/$upstream does not exist, so nothing of it runs"
  exit 0
fi
uid=${answer%% *}
answer=${answer#* }
wanted=${answer%% *}
answer=${answer#* }
live=${answer%% *}
answer=${answer#* }
ready=${answer%% *}
selector=${answer#* }
selector=${selector%,}
[ -n "$selector" ] || fail "deployment $namespace/$upstream has no selector"
if [ "$wanted $live $ready" != "0 0 0" ]; then
  fail "deployment $namespace/$upstream is not down: $wanted wanted, $live live, $ready ready"
fi
rows=$(get pods -l "$selector" -o "go-template=$pods") ||
  fail "cannot list the pods of $namespace/$upstream"
known=$(get replicasets -l "$selector" -o "go-template=$sets") ||
  fail "cannot list the replicasets of $namespace/$upstream"
left=$(printf '%s\n%s\n' "$known" "$rows" | awk -v name="$upstream" -v uid="$uid" "$owned")
if [ -n "$left" ]; then
  printf '%s\n' "$left" >&2
  fail "deployment $namespace/$upstream has size 0, but pods of it are left"
fi
echo "guard: deployment $namespace/$upstream is down"
