// PyTorch as a peer of the benchmarks.
import { spawnSync } from 'node:child_process';
import { freePort, run } from './support.js';

/**
 * The PyTorch of a Python. Without PyTorch, prints a line and returns undefined.
 *
 * @returns its version, and whether it has torch.compile and the backend ucc
 */
export function torchOf(python) {
  const program = `import json, torch, torch.distributed as dist
hasUcc = getattr(dist, 'is_ucc_available', lambda: False)()
print(json.dumps({'version': torch.__version__, 'compiles': hasattr(torch, 'compile'), 'hasUcc': hasUcc}))`;
  const { status, stdout } = spawnSync(python, ['-c', program], { encoding: 'utf8' });
  if (status !== 0) {
    console.error(`measuring without ${python}: it has no torch`);
    return undefined;
  }
  const torch = JSON.parse(stdout);
  return { ...torch, version: torch.version.split('+')[0] };
}

/**
 * Starts PyTorch's processes as torchrun would, with one thread each; torchrun needs more than Debian's python3-torch
 * provides.
 *
 * @param args the script and its arguments, the same for every rank
 * @returns the output of each rank
 */
export async function runTorchRanks(python, args, ranks) {
  const environment = {
    OMP_NUM_THREADS: '1',
    WORLD_SIZE: String(ranks),
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(await freePort()),
  };
  const start = (_, rank) => run(python, args.map(String), { ...environment, RANK: String(rank) });
  return Promise.all(Array.from({ length: ranks }, start));
}
