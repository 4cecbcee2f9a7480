#!/usr/bin/env bash
# Portavoz on this machine, its tests, and its deployment. Needs bash and Python 3.11 or newer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

VENV=.venv
TOOLS=.cache/tools # uv, where the machine has none
UV_VERSION=0.13.9  # any recent release reads the lock; this one was tried

usage() {
  cat <<'EOF'
./deploy.sh local      set up, index the sample content, serve API and widget on http://127.0.0.1:8000;
                       further arguments go to "portavoz serve", such as --port 9000
./deploy.sh test       set up and run the tests; further arguments go to pytest
./deploy.sh            check settings and secrets, deploy to Modal, print the URLs and the widget line
./deploy.sh help       this text
EOF
}

die() {
  printf 'deploy.sh: %s\n' "$1" >&2
  exit 1
}

# The newest Python of at least 3.11 on the PATH.
find_python() {
  local candidate
  for candidate in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "Python 3.11 or newer is needed; install it, for example with: apt-get install python3"
}

# uv as a command or as a module in $TOOLS, put there by whatever pip there is.
ensure_uv() {
  if command -v uv >/dev/null; then
    UV=(uv)
    return
  fi
  UV=(env "PYTHONPATH=$PWD/$TOOLS" "$PYTHON" -m uv)
  if "${UV[@]}" --version >/dev/null 2>&1; then return; fi
  if ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
    if "$PYTHON" -c 'import ensurepip' >/dev/null 2>&1; then
      "$PYTHON" -m venv .cache/pip
      "$PWD/.cache/pip/bin/python" -m pip install -q --target "$TOOLS" "uv==$UV_VERSION" || die "uv could not be installed; is the package registry reachable?"
      return
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      { apt-get update -q && apt-get install -yq python3-pip; } >/dev/null || die "python3-pip could not be installed with apt-get"
    else
      die "this Python has neither pip nor ensurepip; install one, for example with: apt-get install python3-pip"
    fi
  fi
  "$PYTHON" -m pip install -q --target "$TOOLS" "uv==$UV_VERSION" || die "uv could not be installed; is the package registry reachable?"
}

# .venv with exactly the versions of the lock; does nothing where they are there already.
set_up() {
  PYTHON=$(find_python)
  local stamp
  stamp=$(cat requirements.lock pyproject.toml | "$PYTHON" -c 'import hashlib,sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
  if [ -x "$VENV/bin/portavoz" ] && [ "$(cat "$VENV/.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
  ensure_uv
  echo "Setting up $VENV …"
  "${UV[@]}" venv -q --allow-existing --python "$PYTHON" "$VENV" || die "the virtual environment could not be made"
  "${UV[@]}" pip sync -q --python "$VENV/bin/python" --require-hashes requirements.lock ||
    die "the packages of requirements.lock could not be installed; is the package registry reachable?"
  "${UV[@]}" pip install -q --python "$VENV/bin/python" --no-deps --no-build-isolation -e . || die "portavoz could not be installed"
  echo "$stamp" >"$VENV/.stamp"
}

# The owner's settings where there are any, else those of the sample content.
choose_settings() {
  if [ -z "${PORTAVOZ_CONFIG:-}" ] && [ ! -f portavoz.toml ]; then export PORTAVOZ_CONFIG=docs/portavoz.toml; fi
}

local_server() {
  choose_settings
  echo "Indexing (the first time reads every page; later only what changed) …"
  "$VENV/bin/portavoz" index || case $? in
    130) die "interrupted" ;;
    *) die "indexing failed; the message above says why" ;;
  esac
  exec "$VENV/bin/portavoz" serve "$@"
}

modal_deploy() {
  choose_settings
  mkdir -p .cache
  "$VENV/bin/python" -m functions.preflight || exit 1
  # a wide terminal keeps the addresses whole
  COLUMNS=300 "$VENV/bin/modal" deploy -m functions.modal_app | tee .cache/deploy.log ||
    die "the deployment failed; the message above says why"
  "$VENV/bin/python" -m functions.preflight --urls <.cache/deploy.log
}

case "${1:-modal}" in
  local) shift; set_up; local_server "$@" ;;
  test) shift; set_up; exec "$VENV/bin/python" -m pytest "$@" ;;
  modal) set_up; modal_deploy ;;
  help | -h | --help) usage ;;
  *) usage >&2; die "unknown command '$1'" ;;
esac
