// ZeroMQ in the platform packages: the JavaScript of the npm package zeromq and its binary for the platform, instead of
// all its binaries (34 MB), their loader (6 MB) and an install script.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutSymbols } from './elf.js';

const require = createRequire(import.meta.url);

/** Licence of libsodium, which zeromq's binary contains and its npm package does not mention. */
const ofLibsodium = fileURLToPath(new URL('zeromq/libsodium.LICENSE', import.meta.url));

/** Version and SHA-256 of the npm package's binaries, which the authors of zeromq compiled for Node-API. */
export const pinnedZeromq = {
  version: '6.8.0',
  sha256: {
    'linux-x64-glibc': 'a6508e8a090d5e9ca1e1f36a2d7d8de2f9dcc431bddde97d3c4e2d4bced3be6f',
    'linux-arm64-glibc': 'f41356679c246f7d1c9789982ccd952a7a7ea821d5e662def69f1161a52f3158',
    'linux-x64-musl': '2dc1261b723024d523f24a442fee995a20985a047919dcc9b93eed1609b11a57',
    'linux-arm64-musl': 'ffae4786669eb0ab7579dee7cce5d9064c6ccbbf2d54d58b25e0c041b2704962',
    'darwin-arm64': '3f9419db60cb62bbbc66e879c8943e9a7d2277e5ba4afb5636f58667199945ab',
  },
};

const modules = ['index.js', 'draft.js', 'errors.js', 'native.js', 'util.js'];
const licences = ['LICENSE.txt', 'LICENSE_MPL-2.0.txt'];

/** The original searches the binaries of all platforms. */
const loader =
  "// Changed by ringrun.\nexports.__esModule = true;\nexports.default = require('../addon.node');\n";

/** @param staged Folder of the platform package. */
export function addZeromq(target, staged) {
  const itsPackage = dirname(require.resolve('zeromq/package.json'));
  const { version } = JSON.parse(readFileSync(join(itsPackage, 'package.json'), 'utf8'));
  if (version !== pinnedZeromq.version)
    throw new Error(
      `expected zeromq ${pinnedZeromq.version}, got ${version}. Change version and sha256 in scripts/release/zeromq.js.`,
    );
  const folder = join(staged, 'zeromq');
  mkdirSync(join(folder, 'lib'), { recursive: true });
  for (const name of modules)
    writeFileSync(join(folder, 'lib', name), withoutMap(readFileSync(join(itsPackage, 'lib', name), 'utf8')));
  writeFileSync(join(folder, 'lib/load-addon.js'), loader);
  writeFileSync(join(folder, 'addon.node'), shipped(target, readFileSync(originalOf(target))));
  for (const name of licences) cpSync(join(itsPackage, name), join(folder, name));
  cpSync(ofLibsodium, join(folder, 'LICENSE_libsodium.txt'));
}

/** @returns Problems of a staged platform package. */
export function problemsOfZeromq(folder, { os: [os], cpu: [cpu], libc: [libc] = [] }) {
  const binary = join(folder, 'zeromq/addon.node');
  if (!existsSync(binary)) return [];
  const target = { os, cpu, libc };
  const original = readFileSync(originalOf(target));
  const pinned = pinnedZeromq.sha256[[os, cpu, libc].filter(Boolean).join('-')];
  return [
    ...problemsOfHash("the npm package's zeromq/addon.node", hashOf(original), pinned),
    ...problemsOfHash('zeromq/addon.node', hashOf(readFileSync(binary)), hashOf(shipped(target, original))),
  ];
}

function problemsOfHash(name, hash, expected) {
  return hash === expected ? [] : [`${name} has the SHA-256 ${hash}, expected ${expected}`];
}

function originalOf({ os, cpu, libc }) {
  const build = os === 'darwin' ? 'libc-115-Release' : `${libc}-127-Release`;
  return join(dirname(require.resolve('zeromq/package.json')), 'build', os, cpu, 'node', build, 'addon.node');
}

/** Symbols have 0.3 MB. On macOS removing them would invalidate the signature. */
function shipped({ os }, original) {
  return os === 'linux' ? withoutSymbols(original) : original;
}

function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function withoutMap(text) {
  return text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
}
