#!/usr/bin/env bash
# Installs Ceph's object gateway on Debian, for `npm run test:s3`. Starts no service.
set -euo pipefail
packages=(radosgw ceph-mon ceph-osd ceph-common)

is_installed() {
  local command
  for command in radosgw radosgw-admin ceph ceph-mon ceph-osd ceph-authtool monmaptool; do
    command -v "$command" >/dev/null || return 1
  done
}
if is_installed; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "Ceph is missing and this is no Debian: install ${packages[*]} by hand, or name a server with S3_ENDPOINT." >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)

# Debian's packages start their services unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
echo "Installing ${packages[*]} ..."
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
