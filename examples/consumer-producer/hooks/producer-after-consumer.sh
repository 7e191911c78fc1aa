#!/bin/sh
# kzero does not know what depends on what; this wrapper does.
UPSTREAM_DEPLOYMENT=consumer exec /bin/sh ../../hooks/assert-deployment-replicas-zero.sh
