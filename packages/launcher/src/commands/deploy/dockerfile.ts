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

const nodeImage = 'node:20-bookworm-slim';

/**
 * The Dockerfile of a training script.
 *
 * A folder whose package.json depends on ringrun uses Node's public image and its own dependencies; others use
 * ringrun's image, which contains the packages. GPUs need ringrun's GPU image, which has CUDA and NCCL.
 *
 * @param version ringrun's version, the tag of its images
 */
export function dockerfileOf(
  { dependsOnRingrun, hasPackageJson, hasPackageLock, lacksTsx }: FolderContents,
  { gpus, baseImage, version }: { gpus: number; baseImage: string | undefined; version: string },
): string {
  const install = [
    `COPY --chown=1000:1000 package.json ${hasPackageLock ? 'package-lock.json ' : ''}./`,
    `RUN npm ${hasPackageLock ? 'ci' : 'install'} --omit=dev`,
  ];
  if (dependsOnRingrun && gpus === 0 && baseImage === undefined) {
    return text(
      '# Node.js, the dependencies in package.json, and the files of this folder that .dockerignore lets through.',
      `FROM ${nodeImage}`,
      'RUN install -d -o node -g node /workspace /volume',
      '# By number: Kubernetes cannot check that a user name is not root (runAsNonRoot). 1000 is `node`.',
      'USER 1000:1000',
      'WORKDIR /workspace',
      ...install,
      ...(lacksTsx
        ? [
            '# Runs TypeScript. package.json does not have it among its dependencies; devDependencies are left out.',
            `RUN npm install --no-save --omit=dev tsx@${tsxVersion}`,
          ]
        : []),
      'COPY --chown=1000:1000 . .',
      '# Downloaded data sets go to /volume, if a volume is mounted there.',
      'ENV PATH=/workspace/node_modules/.bin:$PATH NODE_ENV=production XDG_CACHE_HOME=/volume/cache ORT_DISABLE_TELEMETRY=1',
      'ENTRYPOINT ["ringrun"]',
    );
  }
  const image = baseImage ?? `${gpus > 0 ? 'ringrun-gpu' : 'ringrun'}:${version}`;
  // ringrun's images do not need npm, and the GPU image does not include it.
  const stage = hasPackageJson
    ? [`FROM ${nodeImage} AS dependencies`, 'WORKDIR /workspace', ...install, '']
    : [];
  return text(
    ...stage,
    "# An image of ringrun, which contains Node.js and ringrun's packages, with the files of this folder that",
    "# .dockerignore lets through. ringrun's repository builds it (deploy/README.md); --base-image names it in a registry.",
    `FROM ${image}`,
    'WORKDIR /workspace',
    ...(hasPackageJson ? ['COPY --from=dependencies --chown=1000:1000 /workspace ./'] : []),
    'COPY --chown=1000:1000 . .',
  );
}

function text(...lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
