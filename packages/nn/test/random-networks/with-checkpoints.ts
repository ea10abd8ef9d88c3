import type { Network, Step } from './network.ts';
import type { Random } from './random.ts';

/** The network with some of its steps in checkpoints, even within branches and other checkpoints. */
export function withCheckpoints(network: Network, random: Random): Network {
  return { ...network, steps: divided(network.steps, random) };
}

function divided(steps: readonly Step[], random: Random): Step[] {
  const inner = steps.map((step) =>
    step.kind === 'branches' ? { ...step, paths: step.paths.map((path) => divided(path, random)) } : step,
  );
  const result: Step[] = [];
  for (let begin = 0; begin < inner.length;) {
    const part = inner.slice(begin, begin + random.int(1, inner.length - begin));
    begin += part.length;
    if (random.chance(0.3)) result.push(...part);
    else result.push({ kind: 'checkpoint', steps: random.chance(0.3) ? divided(part, random) : part });
  }
  return result;
}
