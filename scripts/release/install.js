// Installs the tarballs into an empty folder as a user would, and reduces an array on two ranks from ESM and CommonJS.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const body = `
  await initProcessGroup();
  const values = new Float32Array([getRank() + 1, 10]);
  await allReduce(values);
  if (getRank() === 0) console.log('sum ' + values.join(' '));
  await destroyProcessGroup();
`;
const names = '{ allReduce, destroyProcessGroup, getRank, initProcessGroup }';

const scripts = {
  'sum.mjs': `import ${names} from 'ringrun';\n${body}`,
  'sum.cjs': `const ${names} = require('ringrun');\n(async () => {${body}})();\n`,
};

/** @throws Error with the output of the failed command. */
export function tryInstalled(packed) {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-release-'));
  try {
    installInto(folder, packed);
    const env = withoutCompiler(folder);
    for (const [name, text] of Object.entries(scripts)) {
      writeFileSync(join(folder, name), text);
      const { stdout } = run(folder, env, process.execPath, [
        ...['node_modules/ringrun/bin/ringrun.js', '--nproc', '2', name],
      ]);
      if (!stdout.includes('sum 3 20'))
        throw new Error(`${name} on two ranks printed ${JSON.stringify(stdout)}.`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Creates an empty project with the tarballs as dependencies. Platform packages are optional, so npm installs those
 * that match. No install script runs: ringrun has none, and onnxruntime-node's downloads GPU libraries.
 */
export function installInto(folder, packed, others = {}) {
  const chosen = (isOptional) =>
    Object.fromEntries(
      packed
        .filter(({ name }) => name.startsWith('@ringrun/native-') === isOptional)
        .map(({ name, tarball }) => [name, `file:${tarball}`]),
    );
  const manifest = {
    private: true,
    dependencies: { ...chosen(false), ...others },
    optionalDependencies: chosen(true),
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  run(folder, process.env, 'npm', ['install', ...flags]);
}

/** An environment whose PATH contains only Node. */
function withoutCompiler(folder) {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(process.execPath, join(bin, 'node'));
  return { HOME: folder, PATH: bin };
}

function run(cwd, env, command, args) {
  const result = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (result.status === 0) return result;
  throw new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${result.error ?? result.stderr}`);
}
