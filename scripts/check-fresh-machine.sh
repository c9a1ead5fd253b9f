#!/usr/bin/env bash
# Runs the commands of the README on a machine that has Node, npm and git alone: a new root file system, which holds a
# clone of the last commit. Needs root, and debootstrap on Debian or Ubuntu.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/check-fresh-machine.sh [--demo | --test] [--keep] [-- <command>]

Runs `npm ci && npm run demo && npm test` in an empty root file system, as a user without rights.

  --demo        only `npm run demo`
  --test        only `npm test`
  --keep        leaves the root file system behind, and prints its folder
  -- <command>  runs this after `npm ci` instead, for example: -- npx vitest run --project node
TEXT
}

what=all
keep=false
while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h) usage && exit 0 ;;
    --demo) what=demo ;;
    --test) what=test ;;
    --keep) keep=true ;;
    --) shift && what="$*" && break ;;
    *) echo "Unknown option $1" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

case "$what" in
  all) command="npm run demo && npm test" ;;
  demo) command="npm run demo" ;;
  test) command="npm test" ;;
  *) command="$what" ;;
esac

[ "$(id -u)" -eq 0 ] || { echo "Run this as root: it creates a root file system." >&2; exit 1; }
if ! command -v debootstrap >/dev/null; then
  echo "debootstrap is missing: apt-get install debootstrap" >&2
  exit 1
fi

repository=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d /var/tmp/heddle-fresh.XXXXXX)
chmod 755 "$root"
finish() {
  if $keep; then echo "Kept $root"; else rm -rf --one-file-system "$root"; fi
}
trap finish EXIT

. /etc/os-release
# A mirror or a proxy of this machine's apt serves the new one too.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
echo "Creating a root file system of $VERSION_CODENAME ..."
debootstrap --variant=minbase --include=git,ca-certificates "$VERSION_CODENAME" "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -20 "$root.log" >&2; exit 1; }
rm -f "$root.log"

# The Node of this machine, with its npm.
node=$(readlink -f "$(command -v node)")
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
install -D "$node" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done

# The registry and the authorities that this machine's npm uses.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
printf 'registry=%s\n' "$(npm config get registry)" >"$root/usr/local/etc/npmrc"

useradd --root "$root" --create-home fresh
git clone --quiet "$repository" "$root/home/fresh/heddle"
chown -R --reference="$root/home/fresh" "$root/home/fresh"

cat >"$root/run.sh" <<RUN
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm 2>/dev/null || true
exec setpriv --reuid fresh --regid fresh --init-groups env -i \
  HOME=/home/fresh USER=fresh PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt} \
  bash -c 'cd /home/fresh/heddle && npm ci && $command'
RUN

echo "Running: npm ci && $command"
# Every process ends with this one, because they share its namespace.
unshare --mount --pid --fork --kill-child chroot "$root" bash /run.sh
