#!/usr/bin/env bash
# Installs the servers of the tests on Debian: Ceph's object gateway for `npm run test:s3`, Postgres, MariaDB and Redis
# for the e2e tests of databases. Starts no service.
set -euo pipefail
packages=()

command_exists() { command -v "$1" >/dev/null; }
for command in radosgw radosgw-admin ceph ceph-mon ceph-osd ceph-authtool monmaptool; do
  command_exists "$command" || packages=(radosgw ceph-mon ceph-osd ceph-common)
done
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || packages+=(postgresql)
[ -x /usr/sbin/mariadbd ] || packages+=(mariadb-server-core)
# mariadb-install-db calls my_print_defaults.
command_exists my_print_defaults || packages+=(mariadb-client-core)
command_exists redis-server || packages+=(redis-server)
command_exists openssl || packages+=(openssl)

if [ ${#packages[@]} -eq 0 ]; then exit 0; fi
if ! command_exists apt-get; then
  echo "apt-get is missing: install ${packages[*]} by hand. S3_ENDPOINT names another server for the S3 suite." >&2
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
