#!/bin/sh
# What the launcher said of a failed job, and what pdtriage says of the same logs.
set -eu
pdtriage=$1
job=$2

printf '\npaddle.distributed.launch said (%s/console.log):\n\n' "$job"
grep -h -E 'Container (failed|rank)|FatalError|SignalInfo' "$job/console.log" |
    awk '!seen[$0]++' | cut -c 1-96 | sed 's/^ */    /'
printf '\n$ pdtriage analyze %s\n\n' "$job"
"$pdtriage" analyze "$job" --exit-zero
