#!/bin/sh
# Miniflare runs this as its workerd. The debug port, the entry of Miniflare with its emulation endpoints, and the
# listener of the main script become sockets in the working directory, which only this user can open.
for argument do
  shift
  case "$argument" in
    --socket-addr=entry=*) argument=--socket-addr=entry=unix:entry.sock ;;
  esac
  set -- "$@" "$argument"
done
rm -f main.sock entry.sock http.sock
# Replaces a host name: a CONNECT to it on the listener of the main script could deliver any event, such as messages of
# queues.
# The replacement has the same length, because the configuration is binary.
host=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n' | cut -c1-39)
umask 077
LC_ALL=C sed "s/miniflare-unsafe-internal-capnp-connect/$host/g" > config.bin || exit
exec < config.bin
rm config.bin
exec "$HEDDLE_WORKERD" "$@" --debug-port=unix:main.sock --socket-addr=direct:0:default=unix:http.sock
