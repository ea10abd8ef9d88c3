const variable = 'RINGRUN_FAKE_GPU_ORDER';

/**
 * Runs a function while blocks and threads of the fake GPU run in the reverse order. Bits that differ are of a kernel that depends on
 * the order. Without effect on a GPU.
 */
export async function inReverseOrder<T>(run: () => Promise<T>): Promise<T> {
  const before = process.env[variable];
  process.env[variable] = 'reverse';
  try {
    return await run();
  } finally {
    if (before === undefined) Reflect.deleteProperty(process.env, variable);
    else process.env[variable] = before;
  }
}
