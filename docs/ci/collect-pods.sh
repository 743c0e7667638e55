#!/bin/sh
# What the pods of a PaddleJob printed, for `pdtriage analyze`:
#     sh collect-pods.sh JOB [NAMESPACE] && pdtriage analyze pods
# Pods that are gone have no log any more; pods that were restarted still have the one before.
set -eu
job=$1
namespace=${2:-default}
mkdir -p pods
kubectl get pods --namespace "$namespace" \
    --selector "training.kubeflow.org/job-name=$job" --output name |
    while read -r pod; do
        name=${pod#pod/}
        mkdir -p "pods/$name"
        kubectl logs --namespace "$namespace" "$name" --all-containers > "pods/$name/console.log"
        kubectl logs --namespace "$namespace" "$name" --previous \
            > "pods/$name/console-previous.log" 2>/dev/null || rm -f "pods/$name/console-previous.log"
    done
