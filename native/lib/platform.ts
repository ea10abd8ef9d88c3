import { closeSync, openSync, readSync } from 'node:fs';

/** Such as `linux-x64` or `linux-arm64-musl`: prebuilt binaries and the folders of compiled ones are named by it. */
export function platformName(): string {
  return `${process.platform}-${process.arch}${usesMusl() ? '-musl' : ''}`;
}

/** The npm package with the binary for this platform. A release has one for x64 and arm64 Linux. */
export function platformPackage(): string {
  return `@ringrun/native-${platformName()}`;
}

/** Node's executable names its dynamic loader within its first page (ELF's PT_INTERP). A system may have musl and glibc installed: what counts is Node's own. */
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
