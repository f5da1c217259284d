#!/bin/bash
# Boot a container over this machine's own root; nothing it writes outlives it.
#
#   unshare --mount --propagation private boot.sh FOLDER CGROUP NAME [NSPAWN-ARGUMENT...]
#
# FOLDER holds the overlay, in memory. CGROUP keeps the container's cgroups apart from those of
# others (nspawn puts them beside its own). With basic.target no service of this machine starts.
set -euo pipefail
folder=$1 cgroup=$2 name=$3
shift 3

for tree in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [[ -w $tree/cgroup.procs ]] || continue
  mkdir -p "$tree/$cgroup" && echo $$ >"$tree/$cgroup/cgroup.procs" || true
done

mkdir -p "$folder" /run/systemd/nspawn
mount -t tmpfs -o mode=755 tmpfs /run/systemd/nspawn
mount -t tmpfs -o mode=755 tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay \
  -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
chmod 755 "$folder/root"
rm -f "$folder/root/etc/machine-id"
mkdir -p "$folder/root/opt/pfid/bin" "$folder/root/opt/pfid/lib" "$folder/root/opt/python"

exec systemd-nspawn --quiet --boot --directory="$folder/root" --machine="$name" \
  --register=no --keep-unit --private-network --link-journal=no --console=passive \
  --kill-signal=SIGRTMIN+4 "$@" -- systemd.unit=basic.target systemd.log_target=journal
