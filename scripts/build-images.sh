#!/bin/sh
# Builds the images of deploy/ without a container engine and without a registry, and trains two ranks in them:
#
#   scripts/build-images.sh            builds ringrun:<version> from deploy/Dockerfile, and from it the image of a folder
#                                      for which `ringrun deploy` writes the Dockerfile
#   scripts/build-images.sh --gpu      also builds ringrun-gpu:<version> from deploy/Dockerfile.gpu; downloads 1.7 GB
#
# Needs root, buildah and debootstrap (apt-get install buildah debootstrap), Node.js with npm, and access to Debian's
# mirror and to npm; --gpu also needs PyPI. The base images have the names in the Dockerfiles, but are built here from Debian and
# this machine's Node.js. They are kept for the next
# run in RINGRUN_IMAGES (default: /var/tmp/ringrun-images), which grows to 3 GB, or 10 GB with --gpu. DEBIAN_MIRROR
# (default: http://deb.debian.org/debian) selects the mirror.
set -eu
cd "$(dirname "$0")/.."

folder=${RINGRUN_IMAGES:-/var/tmp/ringrun-images}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
version=$(node --print 'JSON.parse(require("fs").readFileSync("packages/runtime/package.json")).version')
example=/opt/ringrun/packages/examples-mnist/train.ts

# chroot: no container runtime. vfs: no overlay file system, which cannot be mounted inside a container.
export BUILDAH_ISOLATION=chroot
in_storage() {
  buildah --storage-driver vfs --root "$folder/storage" --runroot "$folder/run" "$@"
}

main() {
  gpu=false
  case "${1:-}" in
    --gpu) gpu=true ;;
    '') ;;
    *) fail "expected no argument or --gpu, got '$1'" 2 ;;
  esac
  [ "$(id -u)" = 0 ] || fail 'expected root, because debootstrap and chroot need it. Run it with sudo.' 1
  for tool in buildah debootstrap npm; do
    command -v "$tool" > /dev/null || fail "there is no $tool. Run apt-get install $tool." 1
  done
  mkdir -p "$folder"

  debian
  node_base docker.io/library/node:24-bookworm-slim
  node_base docker.io/library/node:24-bookworm ca-certificates g++ git make python3
  busybox_base docker.io/library/busybox:1.37-musl
  try_build Dockerfile "ringrun:$version" || failed_build Dockerfile
  train "ringrun:$version"
  deploy_folder
  $gpu || return 0
  python_base docker.io/library/python:3.12-slim-bookworm
  try_build Dockerfile.gpu "ringrun-gpu:$version" || failed_build Dockerfile.gpu
  train "ringrun-gpu:$version"
}

fail() {
  echo "build-images.sh: $1" >&2
  exit "$2"
}

# A line of the report. Seconds are those since the last line.
since=$(date +%s)
report() {
  now=$(date +%s)
  echo "build-images.sh: $1 ($((now - since)) s)"
  since=$now
}

exists() {
  in_storage inspect --type image "$1" > /dev/null 2>&1
}

debian=localhost/debian:bookworm

# Debian as installed by debootstrap, for all base images.
debian() {
  exists "$debian" && return
  container=$(in_storage from scratch)
  files=$(in_storage mount "$container")
  debootstrap --variant=minbase bookworm "$files" "$mirror" > "$folder/debootstrap.log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 3 "$folder/debootstrap.log"). The whole log: $folder/debootstrap.log" 1
  rm -rf "$files"/var/cache/apt/archives/*.deb "$files"/var/lib/apt/lists/*
  finish_base "$debian"
  report "made $debian"
}

# start_base [PACKAGES]: a container from Debian with these packages.
start_base() {
  container=$(in_storage from --pull-never "$debian")
  files=$(in_storage mount "$container")
  [ -z "$*" ] && return
  in_storage run "$container" -- sh -c "apt-get update && apt-get install -y --no-install-recommends $*" \
    > "$folder/apt.log" 2>&1 || fail "apt-get failed: $(tail -n 3 "$folder/apt.log"). The whole log: $folder/apt.log" 1
  rm -rf "$files"/var/cache/apt/archives/*.deb "$files"/var/lib/apt/lists/*
}

finish_base() {
  in_storage config --cmd bash "$container"
  in_storage commit --quiet --rm "$container" "$1" > /dev/null
}

# node_base IMAGE [PACKAGES]: Debian with Node.js and the user node, as in the official images of Node.js.
node_base() {
  exists "$1" && return
  image=$1
  shift
  start_base "$@"
  install_node
  chroot "$files" useradd --uid 1000 --user-group --create-home --shell /bin/bash node
  trust_own_certificates
  finish_base "$image"
  report "made $image from Debian and Node.js $(node --version)"
}

# Node.js and npm of this machine, which needs the glibc of Debian 12 or an older one.
install_node() {
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$files/usr/local/lib/node_modules"
  cp "$(node --print process.execPath)" "$files/usr/local/bin/node"
  cp -R "$npm" "$files/usr/local/lib/node_modules/npm"
  for name in npm npx; do
    ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$files/usr/local/bin/$name"
  done
  chroot "$files" node --version > /dev/null || fail "this machine's Node.js does not run on Debian 12. Use one for glibc 2.36." 1
}

# A network with its own certificate authority: builds need the authorities that this machine's Node.js accepts.
trust_own_certificates() {
  [ -n "${NODE_EXTRA_CA_CERTS:-}" ] || return 0
  install -D -m 644 "$NODE_EXTRA_CA_CERTS" "$files/etc/ssl/certs/ca-certificates.crt"
  in_storage config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
}

# busybox_base IMAGE: Debian with its static busybox at the path of the official images.
busybox_base() {
  exists "$1" && return
  start_base busybox-static
  finish_base "$1"
  report "made $1 from Debian and its busybox"
}

# python_base IMAGE: Debian with Python and pip, as in the official images of Python.
python_base() {
  exists "$1" && return
  image=$1
  start_base ca-certificates python3-pip
  trust_own_certificates
  finish_base "$image"
  report "made $image from Debian and its Python"
}

# try_build DOCKERFILE IMAGE [options of buildah]
try_build() {
  dockerfile=$1
  image=$2
  shift 2
  in_storage build --pull-never --ignorefile .dockerignore --file "deploy/$dockerfile" --tag "$image" "$@" . \
    > "$folder/$dockerfile.log" 2>&1 || return
  # The image that had this name before.
  in_storage rmi --prune > /dev/null
  report "built $image from deploy/$dockerfile"
}

failed_build() {
  tail -n 15 "$folder/$1.log" >&2
  fail "deploy/$1 failed. The whole log: $folder/$1.log" 1
}

# train IMAGE: two ranks, started by the image's entrypoint as the image's user.
train() {
  container=$(in_storage from --pull-never "$1")
  files=$(in_storage mount "$container")
  report "$1 adds $(du -sm "$files/opt/ringrun" | cut -f1) MB in /opt/ringrun; with its base image it has $(du -sm "$files" | cut -f1) MB"
  entrypoint=$(in_storage inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$container")
  run="in_storage run $container -- $entrypoint"
  # Without a GPU, a doctor reports problems, and its exit code is 1.
  $run doctor || true
  for tool in nslookup ping nc wget; do
    in_storage run "$container" -- sh -c "command -v $tool" > /dev/null || fail "$1 has no $tool" 1
  done
  status=0
  $run --nproc-per-node=2 "$example" --synthetic --epochs=1 --log-interval=100 || status=$?
  in_storage rm "$container" > /dev/null
  [ "$status" = 0 ] || fail "$1: training failed with exit code $status" 1
  report "trained two ranks in $1"
}

# A user's folder becomes an image and a job by `ringrun deploy`; the variables are those of a PyTorchJob's master.
deploy_folder() {
  own=$folder/own
  rm -rf "$own"
  install -d -o 1000 -g 1000 "$own"
  cp train.ts "$own"
  container=$(in_storage from --pull-never "ringrun:$version")
  in_storage run --volume "$own:/workspace" "$container" -- ringrun deploy --image digits:1 --name digits --base-image "ringrun:$version" train.ts --synthetic
  in_storage rm "$container" > /dev/null
  in_storage build --pull-never --tag digits:1 "$own" > "$folder/own.log" 2>&1 ||
    fail "the Dockerfile of ringrun deploy failed: $(tail -n 3 "$folder/own.log")" 1
  container=$(in_storage from --pull-never digits:1)
  entrypoint=$(in_storage inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$container")
  in_storage run --env PET_NNODES=1 --env PET_NPROC_PER_NODE=2 "$container" -- "$entrypoint" train.ts --synthetic
  in_storage rm "$container" > /dev/null
  report 'trained two ranks in the image of ringrun deploy'
}

main "$@"
