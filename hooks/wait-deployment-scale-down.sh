#!/bin/sh
# Waits until no pod of the step's Deployment or StatefulSet is left, Terminating ones included.
#
# For `post` of a step on down. `kubectl rollout status` is not enough for this: it is content
# once the new size has been observed, while pods may be terminating for minutes.
#
# KZERO_STEP_TYPE       deployment (default) or statefulset
# KZERO_STEP_NAMESPACE  set by kzero
# KZERO_STEP_NAME       set by kzero
# WAIT_TIMEOUT          seconds to wait at most (300)
# WAIT_INTERVAL         seconds between two looks (2)
# KUBECTL               kubectl to use
#
# Needs get on the workload, and list on replicasets and pods.
# shellcheck disable=SC2016 # dollar signs in single quotes are for go-template and awk
set -eu

kubectl=${KUBECTL:-kubectl}
kind=${KZERO_STEP_TYPE:-deployment}
namespace=${KZERO_STEP_NAMESPACE:?is set by kzero for hooks of a step}
name=${KZERO_STEP_NAME:?is set by kzero for hooks of a step}
timeout=${WAIT_TIMEOUT:-300}
interval=${WAIT_INTERVAL:-2}

case $kind in
  deployment | statefulset) ;;
  *) echo "wait: a step of kind $kind has no pods of its own" >&2; exit 1 ;;
esac
case $timeout in
  '' | *[!0-9]*) echo "wait: WAIT_TIMEOUT is seconds, not \"$timeout\"" >&2; exit 1 ;;
esac

get() { "$kubectl" -n "$namespace" --request-timeout=20s get "$@"; }

# Uid, wanted size and label selector of the workload: one word each, but the selector may
# hold blanks and is last.
workload='{{.metadata.uid}} {{.spec.replicas}} {{range $key, $value := .spec.selector.matchLabels}}{{$key}}={{$value}},{{end}}{{range .spec.selector.matchExpressions}}{{if eq .operator "Exists"}}{{.key}},{{else if eq .operator "DoesNotExist"}}!{{.key}},{{else}}{{.key}} {{if eq .operator "In"}}in{{else}}notin{{end}} ({{range $i, $value := .values}}{{if $i}},{{end}}{{$value}}{{end}}),{{end}}{{end}}'

# ReplicaSets as `set UID OWNER-UID`.
sets='{{range .items}}set {{.metadata.uid}} {{range .metadata.ownerReferences}}{{if .controller}}{{.uid}}{{end}}{{end}}{{"\n"}}{{end}}'

# Pods as `pod NAME OWNER-KIND OWNER-NAME OWNER-UID HASH NODE PHASE`, then what else there is to say.
pods='{{range .items}}{{$pod := .metadata.name}}{{$node := "-"}}{{with .spec.nodeName}}{{$node = .}}{{end}}{{$hash := "-"}}{{with .metadata.labels}}{{with index . "pod-template-hash"}}{{$hash = .}}{{end}}{{end}}{{$owner := "- - -"}}{{range .metadata.ownerReferences}}{{if .controller}}{{$owner = printf "%s %s %s" .kind .name .uid}}{{end}}{{end}}pod {{$pod}} {{$owner}} {{$hash}} {{$node}} {{.status.phase}}{{with .metadata.deletionTimestamp}}, Terminating, due to be gone at {{.}}{{end}}{{with .metadata.deletionGracePeriodSeconds}} (grace {{.}} s){{end}}{{with .metadata.finalizers}}, finalizers {{.}}{{end}}{{"\n"}}{{end}}'

# One line a pod that the workload owns. A pod whose ReplicaSet is gone already is known by
# the name that the ReplicaSet had.
owned='
  $1 == "set" { owner[$2] = $3; next }
  $1 == "pod" {
    if (kind == "deployment") {
      if ($3 != "ReplicaSet") next
      if ($5 in owner) { if (owner[$5] != uid) next }
      else if ($4 != name "-" $6) next
    } else if ($3 != "StatefulSet" || $5 != uid) next
    line = "pod " $2 " (node " $7 "): " $8
    for (i = 9; i <= NF; i++) line = line " " $i
    print line
  }'

# look: set `left` to the pods that remain and `wanted` to the size; fail when the API does
# not answer, for that says nothing about pods.
look() {
  answer=$(get "$kind" "$name" --ignore-not-found -o "go-template=$workload") || return 1
  if [ -z "$answer" ]; then
    # Only the API server's own "not found" leads here. Its pods are not looked for: without
    # the object there is no uid to know them by.
    echo "wait: $kind $namespace/$name does not exist, so there is nothing to wait for"
    exit 0
  fi
  uid=${answer%% *}
  answer=${answer#* }
  wanted=${answer%% *}
  selector=${answer#* }
  selector=${selector%,}
  if [ -z "$selector" ]; then
    echo "wait: $kind $namespace/$name has no selector" >&2
    exit 1
  fi
  rows=$(get pods -l "$selector" -o "go-template=$pods") || return 1
  if [ "$kind" = deployment ]; then
    # After the pods, so that the ReplicaSet of every pod seen is known.
    known=$(get replicasets -l "$selector" -o "go-template=$sets") || return 1
    rows="$known
$rows"
  fi
  left=$(printf '%s\n' "$rows" | awk -v kind="$kind" -v name="$name" -v uid="$uid" "$owned")
}

begin=$(date +%s)
said=
while :; do
  if look; then
    if [ -z "$left" ]; then
      echo "wait: no pod of $kind $namespace/$name is left"
      exit 0
    fi
    count=$(printf '%s\n' "$left" | wc -l | tr -d ' ')
    now="wait: $count of $kind $namespace/$name left"
  else
    left=
    now="wait: the API does not answer for $kind $namespace/$name, trying again"
  fi
  if [ "$now" != "$said" ]; then
    echo "$now"
    said=$now
  fi
  if [ $(($(date +%s) - begin)) -ge "$timeout" ]; then
    if [ -z "$left" ]; then
      echo "wait: cannot tell after ${timeout} s whether pods of $kind $namespace/$name are left" >&2
    else
      echo "wait: after ${timeout} s these are left of $kind $namespace/$name (wanted size $wanted):" >&2
      printf '%s\n' "$left" >&2
    fi
    exit 1
  fi
  sleep "$interval"
done
