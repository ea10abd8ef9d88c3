import type { Command } from './command.ts';
import type { Host, Network } from './hosts.ts';

export interface RankOnHost {
  rank: number;
  host: Host;
  command: Command;
}

export interface Job {
  perHost: number;
  /** A script and its arguments. */
  args: readonly (string | number)[];
  /** Default: 29500. */
  masterPort?: number;
  /** Added to the environment of every rank. */
  env?: Readonly<Record<string, string | number>>;
  /** See `CommandOptions`. */
  limitMs?: number;
}

/**
 * Starts a script without a launcher, `perHost` times on every host. The first host has the first ranks, and rank 0 is
 * the master.
 */
export function startOnHosts(
  { hosts }: Network,
  { perHost, args, masterPort = 29500, env: more, ...limits }: Job,
): RankOnHost[] {
  const place = { MASTER_ADDR: hosts[0].address, MASTER_PORT: masterPort };
  // Every host sees all processors of the machine and would use as many threads.
  const env = {
    ...place,
    WORLD_SIZE: hosts.length * perHost,
    OMP_NUM_THREADS: 1,
    RINGRUN_SECRET: 'correct horse battery staple',
    ...more,
  };
  const [script, ...rest] = args.map(String);
  return hosts
    .flatMap((host) => new Array<Host>(perHost).fill(host))
    .map((host, rank) => {
      const command = host.node([script, ...rest], { env: { ...env, RANK: rank }, ...limits });
      return { rank, host, command };
    });
}
