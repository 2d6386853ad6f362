#!/bin/sh
# Writes deploy/.env with the images that compose.yaml builds on, each by its digest, which it asks of
# the registry: sh deploy/pin.sh, once, and again to take security updates in. Without that file the
# tags decide, which their owners move. DOCKER=podman takes Podman.
set -eu
cd "$(dirname "$0")"
docker=${DOCKER:-docker}
pinned() {
  "$docker" pull --quiet "$1:$2" > /dev/null
  digest=$("$docker" image inspect --format '{{index .RepoDigests 0}}' "$1:$2")
  case $digest in *@sha256:*) ;; *) echo "$1:$2 has no digest here" >&2; exit 1 ;; esac
  printf '%s@%s\n' "$2" "${digest##*@}"
}
python=$(pinned docker.io/library/python 3.11-slim-bookworm)
nginx=$(pinned docker.io/library/nginx 1.28-alpine)
printf 'PYTHON=%s\nNGINX=%s\n' "$python" "$nginx" > .env
