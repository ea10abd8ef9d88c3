import { InvalidArgumentError } from './errors.ts';

/** A process that Slurm's `srun` started, in torchrun's variables. */
export type SlurmTask = Readonly<
  Record<'RANK' | 'WORLD_SIZE' | 'LOCAL_RANK' | 'MASTER_ADDR', string> &
    Partial<Record<'MASTER_PORT', string>>
>;

/**
 * What the variables of Slurm say about this process: its rank (SLURM_PROCID), the number of tasks (SLURM_NTASKS), and the first host
 * of the job, where task 0 runs. The port follows from the job's id, as in PyTorch Lightning, because jobs may share hosts: 15000 + its
 * last four digits. Source of the semantics: the manual page of srun, "Output environment variables".
 *
 * @returns undefined outside of a step of srun, and where other variables name ranks or nodes (RANK, WORLD_SIZE, PET_NNODES)
 * @throws InvalidArgumentError if SLURM_PROCID and SLURM_NTASKS are no rank and number of tasks
 */
export function slurmTask(env: NodeJS.ProcessEnv): SlurmTask | undefined {
  const [rank, tasks, nodes] = [env['SLURM_PROCID'], env['SLURM_NTASKS'], nodeList(env)];
  if (namesNodes(env) || !rank || !tasks) return undefined;
  if (!isInteger(rank) || !isInteger(tasks) || Number(rank) >= Number(tasks)) {
    throw new InvalidArgumentError(
      `SLURM_PROCID is ${JSON.stringify(rank)} and SLURM_NTASKS is ${JSON.stringify(tasks)}, expected a task from 0 and their number. ` +
        'Start the script with srun, or set RANK and WORLD_SIZE.',
    );
  }
  return {
    RANK: rank,
    WORLD_SIZE: tasks,
    LOCAL_RANK: env['SLURM_LOCALID'] ?? '0',
    MASTER_ADDR: (nodes && firstHost(nodes)) || '127.0.0.1',
    ...portOfJob(env),
  };
}

/** A node of a Slurm step of several, in the variables of the launcher. */
export type SlurmNode = Readonly<
  Record<'PET_NNODES' | 'PET_NODE_RANK' | 'MASTER_ADDR', string> & Partial<Record<'MASTER_PORT', string>>
>;

/**
 * What the variables of Slurm say to a launcher of which srun starts one on each node.
 *
 * @returns undefined outside of Slurm, on one node, and where other variables name the nodes (PET_NNODES, RANK, WORLD_SIZE)
 * @throws InvalidArgumentError if srun starts several tasks on each node, which would be as many launchers
 */
export function slurmNode(env: NodeJS.ProcessEnv): SlurmNode | undefined {
  const [count, rank, nodes] = [
    env['SLURM_STEP_NUM_NODES'] ?? env['SLURM_NNODES'],
    env['SLURM_NODEID'],
    nodeList(env),
  ];
  if (namesNodes(env) || !count || !rank || !nodes || !(Number(count) > 1)) return undefined;
  const tasks = env['SLURM_STEP_NUM_TASKS'];
  if (tasks && Number(tasks) > Number(count)) {
    throw new InvalidArgumentError(
      `srun starts ${tasks} launchers on ${count} nodes, expected one on each, which starts the processes of its node. ` +
        'Write srun --ntasks-per-node=1 ringrun --nproc-per-node N train.js, or srun node train.js for one process in each task.',
    );
  }
  return { PET_NNODES: count, PET_NODE_RANK: rank, MASTER_ADDR: firstHost(nodes), ...portOfJob(env) };
}

/** LOCAL_RANK of a launcher, else SLURM_LOCALID: the rank among the processes of this host; undefined if neither is set. */
export function localRankOf(env: NodeJS.ProcessEnv): string | undefined {
  return env['LOCAL_RANK'] ?? (env['SLURM_PROCID'] ? env['SLURM_LOCALID'] : undefined);
}

/** The first host of a list such as `gpu[03-05,9],cpu1`, as `scontrol show hostnames` prints it. */
function firstHost(list: string): string {
  const [first] = list.split(/,(?![^[]*\])/);
  return first.replace(/\[([^\],-]*)[^\]]*\]/g, '$1').trim();
}

function nodeList(env: NodeJS.ProcessEnv): string | undefined {
  return env['SLURM_STEP_NODELIST'] ?? env['SLURM_JOB_NODELIST'] ?? env['SLURM_NODELIST'];
}

function portOfJob(env: NodeJS.ProcessEnv): Partial<Record<'MASTER_PORT', string>> {
  const id = env['SLURM_JOB_ID'];
  return id && isInteger(id) ? { MASTER_PORT: String(15_000 + (Number(id) % 10_000)) } : {};
}

/** True in a process that a launcher started, and in a pod of an operator. */
function namesNodes(env: NodeJS.ProcessEnv): boolean {
  return ['PET_NNODES', 'RANK', 'WORLD_SIZE'].some((name) => (env[name]?.trim() ?? '') !== '');
}

function isInteger(text: string): boolean {
  return /^\d+$/.test(text);
}
