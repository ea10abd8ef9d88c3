import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import { credentials, startS3 } from '../../../runtime/test/support/s3.ts';
import { launch, temporaryFolder } from '../support/launched.ts';

/** A user without an entry in /etc/passwd, as in a container that runs with `--user`. */
const uid = 4242;
const isRoot = process.getuid?.() === 0;

/** Runs a script as that user, without HOME or with an empty one, in a folder that it can only read. */
async function run(name: string, source: string, env: NodeJS.ProcessEnv = {}, ranks = 1) {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, name), source);
  const without = { HOME: undefined, XDG_CACHE_HOME: undefined, USERPROFILE: undefined };
  const args = ['--nproc', String(ranks), join(folder, name)];
  const { code, stdout, stderr } = await launch(args, { uid, cwd: folder, env: { ...without, ...env } })
    .ended;
  return { code, stdout, stderr };
}

const sum = `
import { allReduce, destroyProcessGroup, initProcessGroup } from 'ringrun';
await initProcessGroup();
const values = new Float32Array([1]);
await allReduce(values);
console.log(values[0]);
await destroyProcessGroup();`;

describe.runIf(isRoot)(`a user without home directory${isRoot ? '' : ': skipped, needs root'}`, () => {
  test.each(
    ways<readonly [name: string, env: Readonly<Record<string, string>>]>(
      [
        ['sum.js', {}],
        ['sum.ts', { HOME: '' }],
      ],
      [
        ['sum.ts', {}],
        ['sum.js', { HOME: '' }],
      ],
    ),
  )('trains with %s and %j', async (name, env) => {
    expect(await run(name, sum, env, 2)).toEqual({ code: 0, stdout: '2\n2\n', stderr: '' });
  });

  test('reads from a bucket', async () => {
    const { port } = await startS3('photos');
    const source = `
      import { openStorage } from 'ringrun';
      const storage = openStorage('s3://photos/a');
      await storage.write('b', new Uint8Array([1, 2]));
      console.log(await storage.list());`;
    const s3 = { ...credentials, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` };
    expect(await run('bucket.js', source, s3)).toEqual({
      code: 0,
      stdout: "[ { name: 'b', bytes: 2 } ]\n",
      stderr: '',
    });
  });

  test('is asked to set XDG_CACHE_HOME only if a cache is needed', async () => {
    const source = `
      import { prepareMnist } from 'ringrun';
      await prepareMnist({ location: process.env.DATA, synthetic: !process.env.DATA }).catch(({ code, message }) => {
        console.log(code, message);
      });`;
    const { stdout, code } = await run('cache.js', source);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ERR_INVALID_DATA MNIST: this user has no folder for caches: .*Set XDG_CACHE_HOME to a writable folder/,
    );
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const given = await run('cache.js', source, { DATA: folder });
    expect(given.stdout).toMatch(/^ERR_INVALID_DATA \/.*: it has no train-images/);
  });
});
