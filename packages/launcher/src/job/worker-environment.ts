import { firstRankOf, worldSizeOf } from '@ringrun/rendezvous/rounds';
import type { Round } from '@ringrun/rendezvous/rounds';
import { figuresVariable } from '../worker/rank-figures.ts';

/** Settings that all workers of this node share. */
export interface JobSettings {
  round: Round;
  /** RINGRUN_JOB_NAME. */
  name: string;
  /** ROLE_NAME. */
  role: string;
  maxRestarts: number;
  /** Milliseconds from a signal to SIGKILL. */
  gracePeriodMs: number;
  processesPerNode: number;
  /** CPUs that all workers of this node share. */
  usableCpus: number;
}

/** CPUs per worker of this node; 1 if there are more workers than CPUs. */
export function cpusPerWorker({
  usableCpus,
  processesPerNode,
}: Pick<JobSettings, 'usableCpus' | 'processesPerNode'>): number {
  return Math.max(1, Math.floor(usableCpus / processesPerNode));
}

/**
 * Environment of the worker `localRank`: the launcher's environment, and the variables that torchrun sets.
 *
 * Default of OMP_NUM_THREADS: an equal share of the CPUs, because libraries with one thread per CPU in every worker
 * slow each other down.
 *
 * @param files Files for the worker's error record and for its figures; undefined for none.
 */
export function workerEnvironment(
  job: JobSettings,
  localRank: number,
  { errorFile, figuresFile }: { errorFile: string | undefined; figuresFile?: string | undefined },
  inherited: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const { round } = job;
  const rank = String(firstRankOf(round) + localRank);
  const worldSize = String(worldSizeOf(round));
  return {
    OMP_NUM_THREADS: String(cpusPerWorker(job)),
    ...inherited,
    RANK: rank,
    LOCAL_RANK: String(localRank),
    GROUP_RANK: String(round.groupRank),
    // All nodes have one role.
    ROLE_RANK: rank,
    ROLE_NAME: job.role,
    WORLD_SIZE: worldSize,
    LOCAL_WORLD_SIZE: String(job.processesPerNode),
    GROUP_WORLD_SIZE: String(round.groupWorldSize),
    ROLE_WORLD_SIZE: worldSize,
    MASTER_ADDR: round.masterAddress,
    MASTER_PORT: String(round.masterPort),
    RINGRUN_RUN_ID: round.runId,
    RINGRUN_JOB_NAME: job.name,
    RINGRUN_RESTART_COUNT: String(round.restartCount),
    RINGRUN_MAX_RESTARTS: String(job.maxRestarts),
    RINGRUN_GRACE: String(job.gracePeriodMs / 1000),
    RINGRUN_STORE: round.storeEndpoint,
    RINGRUN_ERROR_FILE: errorFile,
    [figuresVariable]: figuresFile,
  };
}

/**
 * Adds torchrun's own variables for a program that may be a PyTorch script: torch and scripts read them
 * (`torch.distributed.is_torchelastic_launched`, `@record`).
 *
 * @param env The worker's environment so far.
 */
export function withTorchrunVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    // NCCL reports an error instead of hanging, as under torchrun.
    TORCH_NCCL_ASYNC_ERROR_HANDLING: '1',
    NCCL_ASYNC_ERROR_HANDLING: '1',
    ...env,
    TORCHELASTIC_RUN_ID: env['RINGRUN_RUN_ID'],
    TORCHELASTIC_RESTART_COUNT: env['RINGRUN_RESTART_COUNT'],
    TORCHELASTIC_MAX_RESTARTS: env['RINGRUN_MAX_RESTARTS'],
    TORCHELASTIC_ERROR_FILE: env['RINGRUN_ERROR_FILE'],
    // The launcher's store is not a torch TCPStore: rank 0 serves one at MASTER_PORT, which is free.
    TORCHELASTIC_USE_AGENT_STORE: 'False',
  };
}
