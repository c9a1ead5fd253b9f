#!/bin/sh
# Miniflare runs this as its workerd: the debug port is a socket in a folder that nobody else can open.
rm -f main.sock
exec "$HEDDLE_WORKERD" "$@" --debug-port=unix:main.sock
