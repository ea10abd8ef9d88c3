// PyTorch as a peer of the benchmarks.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort, root, run } from './support.js';

/** Scripts import mode.py. */
export const pythonEnvironment = { OMP_NUM_THREADS: '1', PYTHONPATH: join(root, 'bench') };

/**
 * The PyTorch of a Python. Without PyTorch, prints a line and returns undefined.
 *
 * @returns the Python, its PyTorch's version, the instructions that its operators use, whether it has torch.compile, the backend ucc, and fused
 *   updates on the CPU
 */
export function torchOf(python) {
  const program = `import json, torch, torch.distributed as dist
hasUcc = getattr(dist, 'is_ucc_available', lambda: False)()
parameter = torch.nn.Parameter(torch.zeros(1))
parameter.grad = torch.zeros(1)
try:
    torch.optim.AdamW([parameter], fused=True).step()
    torch.optim.SGD([parameter], lr=0.1, fused=True).step()
    fuses = True
except (RuntimeError, TypeError):
    fuses = False
capability = getattr(torch.backends, 'cpu', None)
print(json.dumps({'version': torch.__version__, 'compiles': hasattr(torch, 'compile'), 'hasUcc': hasUcc, 'fuses': fuses,
    'capability': capability.get_cpu_capability() if capability else 'capability unknown'}))`;
  const { status, stdout } = spawnSync(python, ['-c', program], { encoding: 'utf8' });
  if (status !== 0) {
    console.error(`measuring without ${python}: it has no torch`);
    return undefined;
  }
  const torch = JSON.parse(stdout);
  return { ...torch, python, version: torch.version.split('+')[0] };
}

/**
 * The modes of a PyTorch: eager and compile, each with the words of `layouts`, each in float32 and under
 * autocast(bfloat16). Updates are fused where PyTorch has fused ones.
 *
 * @param options `layouts`: words of memory layouts beside the default one. `unfused`: whether to add the modes without
 *   fused updates. `fused`: false if the benchmark has no optimizer.
 * @returns `name`, a mode of mode.py, and `isBfloat16`
 */
export function modesOf(torch, { layouts = [], unfused = false, fused = true } = {}) {
  const updates = torch.fuses && fused ? (unfused ? [[], ['fused']] : [['fused']]) : [[]];
  const compiles = torch.compiles ? [[], ['compile']] : [[]];
  const modes = [];
  for (const compile of compiles) {
    for (const layout of [[], ...layouts.map((word) => [word])]) {
      for (const update of updates) {
        for (const type of [[], ['bf16']]) {
          const start = compile.length + layout.length === 0 ? ['eager'] : [];
          const name = [...start, ...compile, ...layout, ...update, ...type].join('+');
          modes.push({ name, isBfloat16: type.length > 0 });
        }
      }
    }
  }
  return modes;
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
    ...pythonEnvironment,
    WORLD_SIZE: String(ranks),
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(await freePort()),
  };
  const start = (_, rank) => run(python, args.map(String), { ...environment, RANK: String(rank) });
  return Promise.all(Array.from({ length: ranks }, start));
}
