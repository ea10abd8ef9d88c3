#!/bin/sh
# Builds and pushes the images of deploy/ with provenance (SLSA) and a list of their contents (SBOM):
#
#   scripts/publish-images.sh amd64      on a machine of this processor: IMAGES/ringrun:VERSION-amd64
#   scripts/publish-images.sh            afterwards: IMAGES/ringrun:VERSION for all processors that were pushed
#
# NVIDIA's libraries, and ringrun-gpu, are for amd64 only. Needs Docker with buildx, and the variables IMAGES (such as
# ghcr.io/ringrun, in any case), REGISTRY_USER and REGISTRY_PASSWORD.
set -eu
cd "$(dirname "$0")/.."

# Names of images are in lower case.
images=$(echo "${IMAGES:?expected the registry and owner of the images, such as ghcr.io/ringrun}" | tr '[:upper:]' '[:lower:]')
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' packages/runtime/package.json)

echo "${REGISTRY_PASSWORD:?expected the password or token of the registry}" |
  docker login "${images%%/*}" --username "${REGISTRY_USER:?expected the user of the registry}" --password-stdin

# build_and_push DOCKERFILE NAME [options of buildx]
build_and_push() {
  dockerfile=$1
  name=$2
  shift 2
  docker buildx build --file "deploy/$dockerfile" --tag "$images/$name:$version-$processor" \
    --provenance mode=max --sbom true --push "$@" .
}

case "${1:-}" in
  amd64 | arm64)
    processor=$1
    # Attestations need a builder of its own.
    docker buildx create --use > /dev/null
    build_and_push Dockerfile ringrun
    [ "$processor" = arm64 ] ||
      build_and_push Dockerfile.gpu ringrun-gpu --build-arg "RINGRUN=$images/ringrun:$version-amd64"
    ;;
  '')
    docker buildx imagetools create --tag "$images/ringrun:$version" \
      "$images/ringrun:$version-amd64" "$images/ringrun:$version-arm64"
    docker buildx imagetools create --tag "$images/ringrun-gpu:$version" "$images/ringrun-gpu:$version-amd64"
    ;;
  *)
    echo "publish-images.sh: expected amd64, arm64 or nothing, got '$1'" >&2
    exit 2
    ;;
esac
