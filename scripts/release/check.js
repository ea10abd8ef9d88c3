// Checks packages before they are published. Each check returns a list of problems.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { problemsOfDocs } from './docs.js';
import { staysOpen } from './elf.js';
import { problemsOfMachO } from './mach-o.js';
import { problemsOfOnnxruntime } from './onnxruntime.js';
import { oldestGlibc } from './targets.js';
import { problemsOfZeromq } from './zeromq.js';

/**
 * @param folders Staged packages, all of one release.
 * @param isChecked Whether to check the addon of the package with this name. A local build depends on this machine's libraries.
 * Default: of every package.
 */
export function problemsOf(folders, { isChecked = () => true } = {}) {
  const packages = folders.map((folder) => ({
    folder,
    manifest: JSON.parse(textOf(folder, 'package.json')),
  }));
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]));
  return [
    ...problemsOfVersions(packages, versions),
    ...packages.flatMap(({ folder, manifest }) =>
      [
        ...problemsOfManifest(manifest),
        ...problemsOfFiles(folder, manifest),
        ...problemsOfExports(folder, manifest),
        ...problemsOfTypes(folder, manifest),
        ...problemsOfImports(folder, manifest),
        ...problemsOfOpenedFiles(folder),
        ...problemsOfDocs(folder, manifest),
        ...(isOfPlatform(manifest) ? problemsOfOnnxruntime(folder, manifest) : []),
        ...(isOfPlatform(manifest) ? problemsOfZeromq(folder, manifest) : []),
        ...(isChecked(manifest.name) ? problemsOfBinary(folder, manifest) : []),
      ].map((problem) => `${manifest.name}: ${problem}`),
    ),
  ];
}

function problemsOfVersions(packages, versions) {
  const [first] = packages;
  return packages.flatMap(({ manifest }) => {
    const problems = [];
    if (manifest.version !== first.manifest.version) {
      problems.push(
        `${manifest.name} is ${manifest.version}, ${first.manifest.name} ${first.manifest.version}`,
      );
    }
    for (const [name, range] of Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies })) {
      if (versions.has(name) && range !== versions.get(name)) {
        problems.push(`${manifest.name} needs ${name} ${range}, the release has ${versions.get(name)}`);
      }
    }
    return problems;
  });
}

function problemsOfManifest(manifest) {
  const problems = [];
  for (const field of ['description', 'license', 'repository', 'engines', 'files', 'publishConfig']) {
    if (manifest[field] === undefined) problems.push(`package.json has no "${field}"`);
  }
  // Platform packages contain other libraries.
  const licence = isOfPlatform(manifest) ? 'Apache-2.0 AND MIT AND MPL-2.0 AND ISC' : 'Apache-2.0';
  if (manifest.license !== licence) problems.push(`the licence is ${manifest.license}, expected ${licence}`);
  if (manifest.private) problems.push('package.json is private');
  if (JSON.stringify(manifest).includes('workspace:')) problems.push('package.json depends on workspace:*');
  for (const hook of ['preinstall', 'install', 'postinstall']) {
    if (manifest.scripts?.[hook]) problems.push(`package.json runs a script on ${hook}`);
  }
  return problems;
}

const unwanted = /\.(tsbuildinfo|map)$|\.test\.|(^|\/)(node_modules|test|build|\.git)(\/|$)/;

function problemsOfFiles(folder, manifest) {
  const files = readdirSync(folder, { recursive: true });
  const missing = ['LICENSE', 'README.md', ...manifest.files].filter(
    (name) => !existsSync(join(folder, name)),
  );
  const licence = existsSync(join(folder, 'LICENSE')) ? textOf(folder, 'LICENSE') : '';
  return [
    ...missing.map((name) => `${name} is missing`),
    ...(/Apache License\s+Version 2\.0/.test(licence) ? [] : ['LICENSE is not Apache-2.0']),
    ...files.filter((name) => unwanted.test(name)).map((name) => `${name} must not be published`),
    ...Object.values(manifest.bin ?? {})
      .filter((name) => (statSync(join(folder, name)).mode & 0o111) === 0)
      .map((name) => `${name} is not executable`),
  ];
}

/** Every path in `exports`, `imports`, `main`, `types` and `bin` must be a file of the package. */
function problemsOfExports(folder, manifest) {
  const paths = pathsIn([manifest.exports, manifest.imports, manifest.main, manifest.types, manifest.bin]);
  const problems = paths
    .filter((path) => !existsSync(join(folder, path)))
    .map((path) => `${path} is missing`);
  if (
    JSON.stringify(manifest.exports ?? {}).includes('.ts"') !==
    JSON.stringify(manifest.exports ?? {}).includes('.d.ts"')
  ) {
    problems.push('exports refer to TypeScript sources');
  }
  return problems;
}

function pathsIn(value) {
  if (typeof value === 'string') return [value];
  return Object.values(value ?? {}).flatMap(pathsIn);
}

/** The doctor looks for it in the folder of the program. */
const lookedUp = ['onnxruntime-node'];

/** Every module that the JavaScript of a package imports must be a dependency, or in `imports`. */
function problemsOfImports(folder, manifest) {
  const known = { ...manifest.dependencies, ...manifest.peerDependencies, [manifest.name]: '' };
  return scriptsIn(folder).flatMap((name) =>
    [
      ...textOf(folder, name)
        // Bundles have short lines, also inside strings.
        .replaceAll('\\\n', '')
        .matchAll(
          /(?:^|;)(?:(?:import|export)\b[^;'"]*?\bfrom|import) ?(['"])([^'".][^'"]*)\1|\b(?:import|require\d*|whenUsed)\((['"])([^'".][^'"]*)\3\)/gm,
        ),
    ]
      .map(([, , imported, , required]) => imported ?? required)
      .filter(
        (path) =>
          !path.startsWith('node:') &&
          !(path in (manifest.imports ?? {})) &&
          !(packageIn(path) in known) &&
          !lookedUp.includes(path),
      )
      .map((path) => `${name} imports ${path}, which is not a dependency`),
  );
}

/**
 * Every file that a module imports or names relative to itself must be in the package. Examples in comments are left out. In a
 * bundle the names are relative to its modules.
 */
function problemsOfOpenedFiles(folder) {
  const modules = scriptsIn(folder).filter((name) => !name.startsWith('dist/bundle/'));
  return modules.flatMap((name) =>
    [
      ...textOf(folder, name).matchAll(
        /^(?!\s*(?:\*|\/\/)).*\bnew URL\('(\.[^']*)', import\.meta\.url\)|^(?:import|export) [^;]*?(['"])(\.[^'"]*)\2;$/gm,
      ),
    ]
      .map(([, opened, , imported]) => join(dirname(name), opened ?? imported))
      .filter((path) => !existsSync(join(folder, path)))
      .map((path) => `${name} opens ${path}, which is missing`),
  );
}

function scriptsIn(folder) {
  if (!existsSync(join(folder, 'dist'))) return [];
  const names = readdirSync(join(folder, 'dist'), { recursive: true });
  return names.filter((name) => name.endsWith('.js')).map((name) => `dist/${name}`);
}

function packageIn(path) {
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Every relative import of a declaration file must resolve to a declaration file. */
function problemsOfTypes(folder, manifest) {
  const known = { ...manifest.dependencies, ...manifest.peerDependencies, [manifest.name]: '' };
  const declarations = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.d.ts'));
  return declarations.flatMap((name) => {
    const imports = [...textOf(folder, name).matchAll(/^(?:import|export) [^;]*?from '([^']+)'/gm)].map(
      ([, path]) => path,
    );
    return imports.flatMap((path) => {
      if (path.startsWith('node:')) return [];
      if (!path.startsWith('.')) {
        return packageIn(path) in known ? [] : [`${name} imports ${path}, which is not a dependency`];
      }
      const target = join(dirname(join(folder, name)), path.replace(/\.js$/, '.d.ts'));
      return existsSync(target) ? [] : [`${name} imports ${relative(folder, target)}, which is missing`];
    });
  });
}

/** Platform packages have no JavaScript of ours. */
function isOfPlatform(manifest) {
  return manifest.main === 'ringrun.node';
}

function problemsOfBinary(folder, manifest) {
  if (!isOfPlatform(manifest)) return [];
  const binary = readFileSync(join(folder, 'ringrun.node'));
  const problems = manifest.os[0] === 'darwin' ? problemsOfMachO(binary) : problemsOfElf(binary, manifest);
  const isAddon = binary.includes('napi_register_module_v1');
  return isAddon ? problems : [...problems, 'ringrun.node is not a Node addon'];
}

/** A binary contains the names and versions of its libc symbols as text. */
function problemsOfElf(binary, manifest) {
  const text = binary.toString('latin1');
  const machine = { x64: 0x3e, arm64: 0xb7 }[manifest.cpu[0]];
  const needed = [...text.matchAll(/GLIBC_(\d+\.\d+)/g)].map(([, version]) => version);
  const newest = needed.sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1])).at(-1);
  const problems = [];
  if (binary.readUInt32BE(0) !== 0x7f454c46) problems.push('ringrun.node is not an ELF file');
  if (binary.readUInt16LE(18) !== machine) problems.push(`ringrun.node is not for ${manifest.cpu[0]}`);
  if (manifest.libc[0] === 'musl' && newest) problems.push(`ringrun.node needs glibc ${newest}, not musl`);
  if (manifest.libc[0] === 'glibc' && Number(newest?.split('.')[1]) > Number(oldestGlibc.split('.')[1])) {
    problems.push(`ringrun.node needs glibc ${newest}, expected at most ${oldestGlibc}`);
  }
  if (!staysOpen(binary)) problems.push('ringrun.node is closed while its threads run');
  if (/lib(stdc\+\+|gcc_s|c\+\+)\.so/.test(text))
    problems.push("ringrun.node needs the system's C++ library");
  return problems;
}

function textOf(folder, name) {
  return readFileSync(join(folder, name), 'utf8');
}
