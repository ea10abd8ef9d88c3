/** The contents of a script's folder that determine its image. */
export interface FolderContents {
  /** Whether the script's package.json depends on ringrun. */
  dependsOnRingrun: boolean;
  hasPackageJson: boolean;
  hasPackageLock: boolean;
  /** Whether the script is TypeScript and no dependency can run it; Node 20 cannot. */
  lacksTsx: boolean;
}

/** The major version with which ringrun is tested. */
const tsxVersion = 4;

const nodeImage = 'node:24-bookworm-slim';

/** NVRTC, cuBLAS, cuDNN and NCCL for CUDA 12, as in deploy/Dockerfile.gpu. */
const wheels =
  'nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cublas-cu12==12.9.3.13 nvidia-cudnn-cu12==9.28.0.42 nvidia-nccl-cu12==2.32.3';

/**
 * The Dockerfile of a training script: Node's public image with ringrun from npm, or another base image that has ringrun.
 *
 * @param version ringrun's version, which a folder whose package.json does not depend on ringrun gets
 */
export function dockerfileOf(
  contents: FolderContents,
  { gpus, baseImage, version }: { gpus: number; baseImage: string | undefined; version: string },
): string {
  return baseImage === undefined
    ? onNodeImage(contents, { gpus, version })
    : onBaseImage(contents, baseImage);
}

function onNodeImage(contents: FolderContents, { gpus, version }: { gpus: number; version: string }): string {
  const { dependsOnRingrun, hasPackageJson, lacksTsx } = contents;
  const tsx = `tsx@${tsxVersion}`;
  return text(
    '# Tools of the pod for debugging.',
    'FROM busybox:1.37-musl AS tools',
    ...(gpus > 0 ? nvidiaStage : []),
    '',
    '# Node.js, ringrun, and the files of this folder that .dockerignore lets through.',
    `FROM ${nodeImage}`,
    'COPY --from=tools /bin/busybox /usr/local/bin/busybox',
    'RUN for tool in nslookup ping nc wget; do ln -s busybox /usr/local/bin/$tool; done \\',
    '  && install -d -o node -g node /workspace /volume /opt/ringrun',
    ...(gpus > 0 ? nvidiaLibraries : []),
    '# By number: Kubernetes cannot check that a user name is not root (runAsNonRoot). 1000 is `node`.',
    'USER 1000:1000',
    ...(dependsOnRingrun
      ? []
      : [
          '# package.json does not depend on ringrun. Scripts that ringrun starts find these packages.',
          `RUN npm install --prefix /opt/ringrun ringrun@${version} @ringrun/nn@${version} ${tsx}`,
        ]),
    'WORKDIR /workspace',
    ...(hasPackageJson ? installOf(contents) : []),
    ...(dependsOnRingrun && lacksTsx
      ? [
          '# Runs TypeScript. package.json does not have it among its dependencies; devDependencies are left out.',
          `RUN npm install --no-save --omit=dev ${tsx}`,
        ]
      : []),
    'COPY --chown=1000:1000 . .',
    '# Downloaded data sets go to /volume, if a volume is mounted there.',
    `ENV PATH=/workspace/node_modules/.bin:/opt/ringrun/node_modules/.bin:$PATH NODE_ENV=production XDG_CACHE_HOME=/volume/cache ORT_DISABLE_TELEMETRY=1`,
    'ENTRYPOINT ["ringrun"]',
  );
}

const nvidiaStage = [
  '',
  "# NVIDIA's libraries, which need a driver of version 525 or later on the nodes.",
  'FROM python:3.12-slim-bookworm AS nvidia',
  `RUN pip install --no-cache-dir --no-compile --no-deps --target /wheels ${wheels} \\`,
  '  && mkdir /libraries \\',
  "  && find /wheels -name '*.so.*' ! -name '*.alt.so.*' ! -name 'libnvblas.so.*' -exec mv -t /libraries {} +",
];

const nvidiaLibraries = [
  'COPY --from=nvidia /libraries /usr/local/cuda/lib64',
  'RUN echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf && ldconfig',
  '# Read by the NVIDIA container runtime.',
  'ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility NVIDIA_REQUIRE_CUDA=cuda>=12.0',
];

/** ringrun's own images do not need npm, and the GPU image does not include it, so a stage installs dependencies. */
function onBaseImage(contents: FolderContents, image: string): string {
  const { hasPackageJson } = contents;
  const stage = hasPackageJson
    ? [`FROM ${nodeImage} AS dependencies`, 'WORKDIR /workspace', ...installOf(contents), '']
    : [];
  return text(
    ...stage,
    '# An image with Node.js and ringrun, and the files of this folder that .dockerignore lets through.',
    `FROM ${image}`,
    'WORKDIR /workspace',
    ...(hasPackageJson ? ['COPY --from=dependencies --chown=1000:1000 /workspace ./'] : []),
    'COPY --chown=1000:1000 . .',
  );
}

function installOf({ hasPackageLock }: FolderContents): string[] {
  return [
    `COPY --chown=1000:1000 package.json ${hasPackageLock ? 'package-lock.json ' : ''}./`,
    `RUN npm ${hasPackageLock ? 'ci' : 'install'} --omit=dev`,
  ];
}

function text(...lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
