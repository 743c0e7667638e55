#!/bin/sh
# Where there is kubectl and no pdtriage: what the pods of a PaddleJob printed, for another machine.
#     sh collect-pods.sh JOB [NAMESPACE] && pdtriage analyze pods
# `pdtriage collect k8s JOB` fetches more: exit codes, reasons and events, without any secrets.
# Pods that are gone have no log any more; containers that were restarted have the one before.
set -eu
job=$1
namespace=${2:-default}
mkdir -p pods
{
    kubectl get pods --namespace "$namespace" --selector paddle-res-type --output name
    kubectl get pods --namespace "$namespace" --output name \
        --selector "training.kubeflow.org/job-name=$job"
} | grep -E "^pod/$job-(worker|ps|heter|master)-[0-9]+\$" | while read -r pod; do
    name=${pod#pod/}
    mkdir -p "pods/$name"
    kubectl get --namespace "$namespace" "$pod" --output wide > "pods/$name/status.txt"
    kubectl logs --namespace "$namespace" "$pod" --all-containers > "pods/$name/console.log" ||
        echo "$name: no log, or not all of it" >&2
    kubectl logs --namespace "$namespace" "$pod" --previous \
        > "pods/$name/console-previous.log" 2>/dev/null || rm -f "pods/$name/console-previous.log"
done
