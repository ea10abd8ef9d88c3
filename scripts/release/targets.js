// The platforms with a prebuilt addon. Each is a separate npm package, and npm installs the one that matches `os`,
// `cpu` and
// `libc`.

/** Node 20 requires glibc 2.28; the addon must not require a newer one. */
export const oldestGlibc = '2.28';

export const targets = [
  target('x64', 'glibc', `x86_64-linux-gnu.${oldestGlibc}`),
  target('arm64', 'glibc', `aarch64-linux-gnu.${oldestGlibc}`),
  target('x64', 'musl', 'x86_64-linux-musl'),
  target('arm64', 'musl', 'aarch64-linux-musl'),
];

function target(cpu, libc, triple) {
  const name = `linux-${cpu}${libc === 'musl' ? '-musl' : ''}`;
  return { name, packageName: `@ringrun/native-${name}`, os: 'linux', cpu, libc, triple };
}

/** The target of this machine; undefined if releases do not include it. */
export function targetOfThisMachine() {
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  return targets.find(({ os, cpu, ...rest }) => {
    return os === process.platform && cpu === process.arch && rest.libc === libc;
  });
}
