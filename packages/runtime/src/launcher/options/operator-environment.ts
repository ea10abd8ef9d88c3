import { highestWorldSize } from '../../process-group/world-size.ts';
import { isHost } from '../../store/host-name.ts';
import { LaunchError } from '../launch-error.ts';

/** What is in the environment beside PET_*: set by Kubeflow's operators for nodes, by launchers for processes. */
export interface OperatorEnvironment {
  rank: number | undefined;
  worldSize: number | undefined;
  /** Only where it counts, as the next. */
  readMasterAddress(): string | undefined;
  /** Only where it counts: a service of Kubernetes that is named `master` puts `tcp://…` there. */
  readMasterPort(): number | undefined;
}

const highestPort = 65535;

/** @throws LaunchError for a variable that is no such number. One that is set to nothing counts as not set. */
export function readOperator(env: NodeJS.ProcessEnv): OperatorEnvironment {
  return {
    rank: readInteger(env, 'RANK', 0),
    worldSize: readInteger(env, 'WORLD_SIZE', 1, highestWorldSize),
    readMasterAddress: () => readHost(env, 'MASTER_ADDR'),
    readMasterPort: () => readInteger(env, 'MASTER_PORT', 1, highestPort),
  };
}

function readHost(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  if (isHost(text)) return text;
  throw new LaunchError(
    2,
    `The variable ${name} is '${text}', expected the name or address of a host. Correct or unset it.`,
  );
}

function readInteger(
  env: NodeJS.ProcessEnv,
  name: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new LaunchError(
    2,
    `The variable ${name} is '${text}', expected an integer ${range}. Correct or unset it.`,
  );
}
