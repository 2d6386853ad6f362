#!/bin/sh
# Makes sure a Chromium is there for the browser tests: CANDOR_CHROMIUM, one on the PATH, or Debian's.
set -eu
if [ -n "${CANDOR_CHROMIUM:-}" ] && [ -x "$CANDOR_CHROMIUM" ]; then exit 0; fi
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if ! command -v apt-get >/dev/null 2>&1; then
  echo "The browser tests need Chromium: install it, or set CANDOR_CHROMIUM to its path." >&2
  exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then sudo="sudo"; fi
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null
