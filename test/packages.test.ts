// The published packages. The short form checks the folders that npm would pack. `npm run test:packages` packs them,
// installs them with npm into an empty folder, and uses them there with every supported Node.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { problemsOf } from '../scripts/release/check.js';
import { installInto } from '../scripts/release/install.js';
import { pack } from '../scripts/release/pack.js';
import { publicPackages, stagePackage, stagePlatform } from '../scripts/release/stage.js';
import { targetOfThisMachine } from '../scripts/release/targets.js';
import { repository } from './support/environment.ts';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const folder = temporaryFolder();

describe('packed packages', () => {
  const names = [
    '@ringrun/native',
    '@ringrun/core',
    '@ringrun/collectives',
    'ringrun',
    '@ringrun/nn',
    '@ringrun/tfjs',
  ];
  const staged = publicPackages().map((one) => stagePackage(one, join(folder, 'staged')));

  test('are complete, and each follows its dependencies', () => {
    expect(publicPackages().map(({ manifest }) => manifest.name)).toEqual(names);
    expect(problemsOf(staged, { binaries: false })).toEqual([]);
  });

  test('the check finds a missing file, a wrong licence, another version and a missing type', () => {
    const [native, , collectives, runtime, nn] = staged as [string, string, string, string, string];
    const change = (of: string, text: string, by: string) => {
      const path = join(of, 'package.json');
      const before = readFileSync(path, 'utf8');
      expect(before).toContain(text);
      writeFileSync(path, before.replaceAll(text, by));
    };
    rmSync(join(native, 'once.js'));
    change(collectives, '"Apache-2.0"', '"MIT"');
    rmSync(join(runtime, 'dist/report/index.d.ts'));
    change(nn, '"version": "0.1.0"', '"version": "0.1.1"');
    writeFileSync(join(native, 'leftover.test.js'), '');
    expect(problemsOf(staged, { binaries: false })).toEqual([
      '@ringrun/nn is 0.1.1, @ringrun/native 0.1.0',
      '@ringrun/native: once.js is missing',
      '@ringrun/native: leftover.test.js must not be published',
      '@ringrun/collectives: the licence is MIT, expected Apache-2.0',
      'ringrun: dist/index.d.ts imports dist/report/index.d.ts, which is missing',
    ]);
  });
});

describe.runIf(process.env['RINGRUN_PACKAGES'])('packages installed with npm into an empty folder', () => {
  const project = temporaryFolder();
  const nothing = join(project, 'nothing');
  const names = '{ allReduce, destroyProcessGroup, getRank, initProcessGroup }';
  const body = `
    await initProcessGroup();
    const values = new Float32Array([getRank() + 1, 10]);
    await allReduce(values);
    if (getRank() === 0) console.log(process.version, ...values, await isOneRingrun());
    await destroyProcessGroup();`;
  const files = {
    'sum.mjs': `import ${names} from 'ringrun';\nimport '@ringrun/nn';\nimport '@ringrun/tfjs';\nconst isOneRingrun = () => true;${body}`,
    'sum.cjs': `const ${names} = require('ringrun');\nrequire('@ringrun/nn');\nrequire('@ringrun/tfjs');
const isOneRingrun = async () => (await import('ringrun')).allReduce === allReduce;\n(async () => {${body}})();`,
    'use.ts': `import { DistributedDataParallel, allReduce, type ProcessGroup } from 'ringrun';
import { ReduceOp } from '@ringrun/collectives';
import { RingrunError } from '@ringrun/core';
import { F, nn, tensor } from '@ringrun/nn';
export const model = new DistributedDataParallel(new nn.Linear(2, 1));
export const loss = F.mseLoss(model.forward(tensor(Float32Array.of(1, 2), [1, 2])), tensor(Float32Array.of(1), [1, 1]));
export async function sum(values: Float32Array, processGroup: ProcessGroup): Promise<void> {
  await allReduce(values, { op: ReduceOp.SUM, group: processGroup });
  if (values.length === 0) throw new RingrunError('ERR_NOTHING', 'nothing');
}`,
  };

  beforeAll(() => {
    const staged = publicPackages().map((one) => stagePackage(one, join(project, 'staged')));
    staged.push(
      stagePlatform(
        targetOfThisMachine()!,
        join(repository, 'native/build/ringrun.node'),
        join(project, 'staged'),
      ),
    );
    const packed = staged.map((one) => pack(one, project));
    installInto(project, packed, { typescript: '~6.0.3', '@types/node': '20.19.43' });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
    for (const name of ['use.mts', 'use.cts']) writeFileSync(join(project, name), files['use.ts']);
  }, 400_000);

  test.each(['20', '22', '24'])(
    'reduce on two ranks without a compiler, on Node %s',
    async (version) => {
      const found = start('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], {
        limitMs: 200_000,
      });
      const node = (await found.ended).stdout.trim();
      for (const script of ['sum.mjs', 'sum.cjs']) {
        const env = { HOME: project, PATH: nothing };
        const args = ['node_modules/ringrun/bin/ringrun.js', '--nproc', '2', script];
        const { code, stdout, stderr } = await start(node, args, { cwd: project, env }).ended;
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(new RegExp(`^v${version}\\.\\S+ 3 20 true\\n$`));
      }
    },
    300_000,
  );

  test.each([
    ['nodenext', ['use.mts', 'use.cts', '--module', 'nodenext']],
    ['node16', ['use.mts', 'use.cts', '--module', 'node16']],
    ['a bundler', ['use.ts', '--module', 'preserve', '--moduleResolution', 'bundler']],
  ])(
    'type-check strictly, declarations too, with %s',
    async (_, args) => {
      const tsc = [
        'node_modules/typescript/bin/tsc',
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        'false',
        '--types',
        'node',
      ];
      const { stdout } = await start(process.execPath, [...tsc, '--target', 'es2023', ...args], {
        cwd: project,
        limitMs: 250_000,
      }).ended;
      expect(stdout).toBe('');
    },
    300_000,
  );
});
