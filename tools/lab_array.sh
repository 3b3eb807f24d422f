#!/bin/sh
#SBATCH --job-name=fairlead-lab
#SBATCH --array=1-16
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=08:00:00
#SBATCH --output=lab-%A_%a.log
# One shard of a lab command per task of a Slurm array, started in the root of the tree:
#     sbatch tools/lab_array.sh                       # all claims in full, in 16 shards
#     sbatch --array=1-64 tools/lab_array.sh run racing --runs 100
#     build/fairlead lab merge lab-state --markdown   # when all have ended
# A task that was ended goes on where it was when it is started again: sbatch --array=7-7 --export=SHARDS=16 …
set -eu
[ $# -gt 0 ] || set -- verify --full
exec "${FAIRLEAD:-build/fairlead}" lab "$@" \
    --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" --state "${LAB_STATE:-lab-state}"
