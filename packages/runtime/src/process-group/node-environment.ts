import { InvalidArgumentError } from '@ringrun/core';

/**
 * Refuses to run without a launcher in an environment that needs one: ranks would wait for processes that are never
 * started, or each node would train alone. Kubeflow's operators set PET_* for torchrun, and the RANK of a PyTorchJob is
 * the node's rank if a node runs several processes. A process started by a launcher has LOCAL_RANK and is accepted.
 *
 * @throws InvalidArgumentError with the variables that are set and the command to run.
 */
export function refuseEnvironmentOfNode(env: NodeJS.ProcessEnv): void {
  const isSet = (name: string) => (env[name]?.trim() ?? '') !== '';
  if (isSet('LOCAL_RANK')) return;
  const perNode = Number(env['PET_NPROC_PER_NODE'] ?? env['PET_N_PROC_PER_NODE'] ?? 1);
  const several = perNode > 1 ? `PET_NPROC_PER_NODE requests ${perNode} processes on this node` : undefined;
  if (isSet('RANK') && isSet('WORLD_SIZE')) {
    const isRankOfNode = several !== undefined && env['RANK'] === env['PET_NODE_RANK'];
    if (isRankOfNode) throw refusal(`${several}, and RANK=${env['RANK']} is the node's rank`);
    return;
  }
  const nodes = env['PET_NNODES']?.trim() ?? '';
  if (nodes !== '' && nodes !== '1' && nodes !== '1:1') {
    throw refusal(
      `PET_NNODES is ${nodes}, but RANK and WORLD_SIZE are not set, so each node would train alone`,
    );
  }
  if (several !== undefined) throw refusal(`${several}, but RANK and WORLD_SIZE are not set`);
}

function refusal(why: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `This process was started without a launcher, but the environment needs one: ${why}. ` +
      'Start the script with `ringrun train.js` instead of `node train.js`: the launcher reads these variables.',
  );
}
