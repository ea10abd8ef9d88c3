// The platforms with a prebuilt addon. Each is a separate npm package, and npm installs the one that matches `os`, `cpu` and
// `libc`.

/** Node 20 requires glibc 2.28; the addon must not require a newer one. */
export const oldestGlibc = '2.28';

/** onnxruntime 1.30.0 requires macOS 14; the addon must not require a newer one. */
export const oldestMacos = '14.0';

export const targets = [
  target('x64', 'glibc', `x86_64-linux-gnu.${oldestGlibc}`),
  target('arm64', 'glibc', `aarch64-linux-gnu.${oldestGlibc}`),
  target('x64', 'musl', 'x86_64-linux-musl'),
  target('arm64', 'musl', 'aarch64-linux-musl'),
  {
    name: 'darwin-arm64',
    packageName: '@ringrun/native-darwin-arm64',
    os: 'darwin',
    cpu: 'arm64',
    triple: `aarch64-macos.${oldestMacos}`,
  },
];

function target(cpu, libc, triple) {
  const name = `linux-${cpu}${libc === 'musl' ? '-musl' : ''}`;
  return { name, packageName: `@ringrun/native-${name}`, os: 'linux', cpu, libc, triple };
}

/** The target of this machine; undefined if releases do not include it. */
export function targetOfThisMachine() {
  const isLinux = process.platform === 'linux';
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  return targets.find(({ os, cpu, ...rest }) => {
    return os === process.platform && cpu === process.arch && (!isLinux || rest.libc === libc);
  });
}
