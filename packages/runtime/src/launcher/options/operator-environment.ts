import { highestWorldSize } from '../../process-group/world-size.ts';
import { isHostName } from '../../store/host-name.ts';
import { CommandError } from '../launch-error.ts';

/** Variables other than PET_*: Kubeflow's operators set them per node, launchers per process. */
export interface OperatorEnvironment {
  rank: number | undefined;
  worldSize: number | undefined;
  /** Read only if needed, so that an invalid value that is not used causes no error. */
  readMasterAddress(): string | undefined;
  /** Read only if needed: a Kubernetes service named `master` sets MASTER_PORT to `tcp://…`. */
  readMasterPort(): number | undefined;
}

const highestPort = 65535;

/** @throws CommandError if a variable is not an integer in its range. An empty variable counts as unset. */
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
  if (isHostName(text)) return text;
  throw new CommandError(
    2,
    `The variable ${name}: expected the name or address of a host, got '${text}'. Correct or unset it.`,
  );
}

function readInteger(
  env: NodeJS.ProcessEnv,
  name: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new CommandError(
    2,
    `The variable ${name}: expected an integer ${range}, got '${text}'. Correct or unset it.`,
  );
}
