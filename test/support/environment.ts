import { fileURLToPath } from 'node:url';
import { fakeComputeLibraries } from '../../native/test/fake-gpu/libraries.ts';

/** The root of the repository, with a slash at its end. */
export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** With TEST_DEVICE=cuda, the models of all processes compute on fakes of NVIDIA's libraries, unless they are moved. */
export const computesOnGpu = process.env['TEST_DEVICE'] === 'cuda';

const onGpu: Readonly<Record<string, string>> = computesOnGpu
  ? { ...fakeComputeLibraries(), RINGRUN_DEVICE: 'cuda' }
  : {};

/**
 * The environment of the tests with `values` added, as in a user's shell: without variables of a launcher or an
 * operator, and without NODE_PATH, which test runners set. `npm run test:sanitize` sets RINGRUN_NATIVE.
 */
export function environmentWith(values: Readonly<Record<string, string | number>>): NodeJS.ProcessEnv {
  const foreign =
    /^(\w*RANK|\w*WORLD_SIZE|MASTER_ADDR|MASTER_PORT|OMP_NUM_THREADS|RINGRUN_(?!NATIVE$)\w+|PET_\w+|NODE_PATH)$/;
  return Object.fromEntries([
    ...Object.entries(process.env).filter(([name]) => !foreign.test(name)),
    ...Object.entries(onGpu),
    ...Object.entries(values).map(([name, value]) => [name, String(value)] as const),
  ]);
}
