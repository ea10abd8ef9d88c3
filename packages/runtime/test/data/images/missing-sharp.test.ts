import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** A module for `node --import`, with which the package sharp is not found. */
const withoutSharp = `
  import { register } from 'node:module';
  const hook = \`export async function resolve(name, context, next) {
    if (name !== 'sharp') return await next(name, context);
    throw Object.assign(new Error("Cannot find package 'sharp'"), { code: 'ERR_MODULE_NOT_FOUND' });
  }\`;
  register('data:text/javascript,' + encodeURIComponent(hook));`;

test('decoding without the package sharp names the package and the command that installs it', () => {
  const decoder = new URL('../../../dist/data/images/image-decoder.js', import.meta.url).href;
  const script = `
    const { ImageDecoder } = await import(${JSON.stringify(decoder)});
    const file = { name: 'a.png', bytes: new Uint8Array(1), label: 0n, identity: [0] };
    await new ImageDecoder([{ kind: 'ToTensor' }]).decode([file], { seed: 0, epoch: 0 }).catch(({ code, message }) => {
      console.log(code, message);
    });`;
  const hook = `data:text/javascript,${encodeURIComponent(withoutSharp)}`;
  const args = ['--import', hook, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout).toBe(
    'ERR_PACKAGE_MISSING decoding images: expected the package sharp, got none. Run npm install sharp.\n',
  );
});
