import { closeSync, openSync, readSync } from 'node:fs';

/** Platform name in the names of prebuilt packages and build folders, such as `linux-x64` or `linux-arm64-musl`. */
export function platformName(): string {
  return `${process.platform}-${process.arch}${usesMusl() ? '-musl' : ''}`;
}

/** The npm package with the binary for this platform. A release has one for x64 and arm64 Linux and for arm64 macOS. */
export function platformPackage(): string {
  return `@ringrun/native-${platformName()}`;
}

/**
 * Checks Node's own executable, because a system may have both musl and glibc. It names its dynamic loader within its
 * first page (ELF's PT_INTERP).
 */
function usesMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const start = Buffer.alloc(4096);
  const file = openSync(process.execPath, 'r');
  try {
    readSync(file, start, 0, start.length, 0);
  } finally {
    closeSync(file);
  }
  return start.includes('/ld-musl-');
}
