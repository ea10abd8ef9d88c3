// The library of onnxruntime in the platform packages: a copy of the one in onnxruntime-node, with its licence.
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/** LICENSE and ThirdPartyNotices.txt of onnxruntime. The npm package has neither; its Python package has both. */
const texts = fileURLToPath(new URL('onnxruntime', import.meta.url));

/**
 * The file of each system and the name by which its dynamic linker knows it. On Linux the copy has another SONAME, as long as
 * that of onnxruntime: the linker would bind an onnxruntime-node of another version, which a program loads later, to this
 * library. macOS distinguishes libraries by their paths, and refuses to load one whose bytes differ from its signature.
 */
const builds = {
  linux: { library: 'libonnxruntime.so.1', ownName: 'libringrun-ort.so.1' },
  darwin: { library: 'libonnxruntime.1.dylib', ownName: 'libonnxruntime.1.dylib' },
};

/** Version and SHA-256 of the libraries. Built by Microsoft for glibc and macOS; onnxruntime has no build for musl. */
export const pinned = {
  version: '1.30.0',
  sha256: {
    'linux-x64': 'ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23',
    'linux-arm64': '1f549d46250b005580b597f4164984aaf75b3bcb9f3aeb07c7f8a8fe60b23c76',
    'darwin-arm64': '685d2be5dba1309c89d3a5324b7fd06a5c42f1a61bfea32d14c4cc28d072121d',
  },
};

/** Files of a target's platform package in addition to the addon. */
export function onnxruntimeFiles({ os, libc }) {
  const { library } = builds[os];
  return libc === 'musl' ? [] : [library, `${library}.sha256`, 'onnxruntime'];
}

/** @param staged Folder of the platform package. */
export function addOnnxruntime(target, staged) {
  if (onnxruntimeFiles(target).length === 0) return;
  const itsPackage = dirname(require.resolve('onnxruntime-node/package.json'));
  const { version } = JSON.parse(readFileSync(join(itsPackage, 'package.json'), 'utf8'));
  if (version !== pinned.version)
    throw new Error(
      `expected onnxruntime-node ${pinned.version}, got ${version}. Change version and sha256 in scripts/release/onnxruntime.js, and the licence texts beside it.`,
    );
  const { library, ownName } = builds[target.os];
  const original = readFileSync(join(itsPackage, 'bin/napi-v6', target.os, target.cpu, library));
  const renamed = withName(original, library, ownName);
  writeFileSync(join(staged, library), renamed);
  writeFileSync(join(staged, `${library}.sha256`), `${hashOf(renamed)}  ${library}\n`);
  cpSync(texts, join(staged, 'onnxruntime'), { recursive: true });
}

/** @returns Problems of a staged platform package. */
export function problemsOfOnnxruntime(folder, { os: [os], cpu: [cpu], libc: [libc] = [] }) {
  const { library, ownName } = builds[os];
  if (onnxruntimeFiles({ os, libc }).length === 0 || !existsSync(join(folder, library))) return [];
  const hash = hashOf(withName(readFileSync(join(folder, library)), ownName, library));
  const expected = pinned.sha256[`${os}-${cpu}`];
  return hash === expected ? [] : [`${library} has the SHA-256 ${hash}, expected ${expected}`];
}

/** The library with another SONAME of the same length. Its name stands once among the strings of the dynamic linker. */
function withName(bytes, from, to) {
  if (from === to) return bytes;
  const changed = Buffer.from(bytes);
  const at = changed.indexOf(`\0${from}\0`);
  if (at !== -1) changed.write(to, at + 1);
  return changed;
}

function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
