// Compiles the addon: native/src → native/build/ringrun.node. Plain JavaScript and a C++ compiler; nothing is
// downloaded.
//
//   node native/build.js                   compiles changed files
//   node native/build.js --clean           compiles all files, even those whose objects are cached
//   node native/build.js --into FOLDER     builds FOLDER/ringrun.node, for RINGRUN_NATIVE
//   node native/build.js --seen TIME       compiles in one process if several call this at once; a binary whose modification
//                                          time (in ms) is not TIME is used unchanged
//   node native/build.js --before-install  compiles files without npm dependencies, during npm install; no binary
//
// Object files are cached in ~/.cache/ringrun/objects (see compile/object-cache.js).
//
// $CXX is the compiler, optionally with its first arguments (`zig c++ -target aarch64-linux-musl`). $CXXFLAGS is added
// to every call (such as -fsanitize=address), $LDFLAGS to linking.
import { existsSync, readFileSync, rmSync, statSync, mkdirSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findCompiler, linkFlags, make } from './compile/compiler.js';
import { objectFolder, prune } from './compile/object-cache.js';
import { Objects } from './compile/objects.js';
import { sourcesOf } from './compile/sources.js';
import { once } from './once.js';

const root = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    clean: { type: 'boolean' },
    into: { type: 'string', default: join(root, 'build') },
    seen: { type: 'string' },
    'before-install': { type: 'boolean' },
  },
});
const buildFolder = resolve(options.into);
const binary = join(buildFolder, 'ringrun.node');

async function build(compiler) {
  if (options.clean) rmSync(buildFolder, { recursive: true, force: true });
  mkdirSync(buildFolder, { recursive: true });
  const folder = objectFolder(join(buildFolder, 'objects'));
  const all = new Objects(sourcesOf(root, buildFolder), compiler, folder);
  if (options['before-install']) {
    await all.update({ isSelected: (libraries) => !libraries.has('napi.h') });
    return;
  }
  const { objects, compiled } = await all.update({ again: options.clean });
  const linking = [...objects, ...linkFlags()];
  const stamp = join(buildFolder, 'linked');
  const hash = createHash('sha256').update(JSON.stringify(linking)).digest('hex');
  if (compiled === 0 && existsSync(binary) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash)
    return;
  await make(binary, compiler, linking);
  writeFileSync(stamp, hash);
  prune(folder);
  const path = relative(process.cwd(), binary);
  console.error(`ringrun: compiled ${compiled} files with ${compiler.name} into ${path}`);
}

/** For ranks that start at the same time without a binary. */
function buildOnce(compiler) {
  return once({
    lock: join(buildFolder, 'compiling'),
    isDone: () => String(statSync(binary, { throwIfNoEntry: false })?.mtimeMs ?? 0) !== options.seen,
    onWait: (holder) => {
      // One rank of each host prints the line.
      if ((process.env.LOCAL_RANK ?? '0') === '0') {
        console.log(`ringrun: waiting for ${holder}, which is compiling the native addon`);
      }
    },
    work: () => {
      console.log(
        `ringrun: no prebuilt native addon for ${process.platform}-${process.arch}: compiling it once, which takes minutes. ` +
          'To compile it in advance, run npx ringrun build-native',
      );
      return build(compiler);
    },
  });
}

try {
  const compiler = findCompiler();
  await (options.seen === undefined ? build(compiler) : buildOnce(compiler));
} catch (error) {
  console.error(`ringrun: the native addon was not built: ${error.message}`);
  process.exitCode = 1;
}
