import { InvalidArgumentError } from 'commander';
import type { Command, Option } from 'commander';
import type { DashboardPlace } from './dashboard-place.ts';
import { CommandError } from '../command-error.ts';
import type { NodeRange, NumaBinding, ProcessesPerNode } from './launch-options.ts';
import type { RendezvousConfig, RendezvousOptions } from './rendezvous-options.ts';
import type { StreamsByRank } from './streams-by-rank.ts';
import { nearest } from '@ringrun/core';
import { parseTruth } from './values.ts';

/** The values of all options, by name. */
interface Values {
  nproc: ProcessesPerNode;
  nprocPerNode: ProcessesPerNode;
  module: boolean;
  noNode: boolean;
  noPython: boolean;
  role: string;
  name: string;
  numaBinding: NumaBinding;
  nnodes: NodeRange;
  nodeRank: number;
  masterAddr: string;
  masterPort: number;
  localAddr: string;
  rdzvBackend: RendezvousOptions['backend'];
  rdzvEndpoint: { host: string; port: number | undefined };
  rdzvId: string;
  rdzvConf: RendezvousConfig;
  secretFile: string;
  encrypt: boolean;
  links: string;
  saveLinks: string;
  standalone: boolean;
  maxRestarts: number;
  monitorInterval: number;
  signalsToHandle: NodeJS.Signals[];
  gracePeriod: number;
  redirects: StreamsByRank;
  tee: StreamsByRank;
  logDir: string;
  localRanksFilter: number[];
  dashboard: DashboardPlace | false;
}

/** A value and its source: `--nnodes` or `PET_NNODES`. */
export interface Given<T> {
  readonly value: T;
  readonly from: string;
  readonly byFlag: boolean;
}

/** The options that the command line sets, and those that only the environment sets. */
export type RequestedOptions = { readonly [Name in keyof Values]?: Given<Values[Name]> };

/**
 * Collects the options of `command`, which is parsed already, and of the environment. An empty variable counts as
 * unset.
 *
 * @throws CommandError if a variable has a value that its option does not accept.
 */
export function collectOptions(command: Command, env: NodeJS.ProcessEnv): RequestedOptions {
  const given = command.options.map(
    (option) => [camelCased(nameOf(option)), find(command, option, env)] as const,
  );
  return Object.fromEntries(given.filter(([, found]) => found !== undefined));
}

function find(command: Command, option: Option, env: NodeJS.ProcessEnv): Given<unknown> | undefined {
  const attribute = option.attributeName();
  if (command.getOptionValueSource(attribute) === 'cli') {
    const value = command.getOptionValue(attribute) as unknown;
    return { value: option.negate ? !value : value, from: option.long!, byFlag: true };
  }
  const from = variablesOf(option).find((name) => env[name]?.trim());
  if (from === undefined) return undefined;
  return { value: readVariable(option, from, env[from]!.trim()), from, byFlag: false };
}

function readVariable(option: Option, variable: string, text: string): unknown {
  try {
    const parse = (option.parseArg as ((value: string) => unknown) | undefined) ?? parseTruth;
    return parse(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new CommandError(
      2,
      `The variable ${variable} is '${text}', but it sets --${nameOf(option)}. ${error.message}`,
    );
  }
}

/**
 * Variables that set an option; the first one that is set counts: torchrun's, older names of Kubeflow's operator,
 * ringrun's.
 */
function variablesOf(option: Option): string[] {
  const name = nameOf(option);
  const own =
    {
      'nproc-per-node': ['PET_N_PROC_PER_NODE'],
      'grace-period': ['RINGRUN_GRACE'],
      encrypt: ['RINGRUN_ENCRYPT'],
      links: ['RINGRUN_LINKS'],
      'save-links': ['RINGRUN_SAVE_LINKS'],
      dashboard: ['RINGRUN_DASHBOARD'],
      name: ['RINGRUN_JOB_NAME'],
    }[name] ?? [];
  const isTorchs = ![
    'version',
    'nproc',
    'no-node',
    'grace-period',
    'secret-file',
    'encrypt',
    'links',
    'save-links',
    'dashboard',
    'name',
  ].includes(name);
  return [...(isTorchs ? [`PET_${name.replaceAll('-', '_').toUpperCase()}`] : []), ...own];
}

/**
 * Warnings about variables that look misspelt. Others with PET_ are ignored: a Kubernetes service named `pet` sets
 * some.
 */
export function misspeltVariables(command: Command, env: NodeJS.ProcessEnv): string[] {
  const known = command.options.flatMap(variablesOf);
  const unknown = Object.keys(env).filter((name) => name.startsWith('PET_') && !known.includes(name));
  return unknown.flatMap((name) => {
    const meant = nearest(
      name.slice('PET_'.length),
      known.map((one) => one.replace(/^PET_/, '')),
    );
    return meant === undefined ? [] : [`Unknown variable ${name}. Did you mean PET_${meant}?`];
  });
}

/** Returns `nproc-per-node` for `--nproc-per-node`. */
function nameOf(option: Option): string {
  return option.long!.slice(2);
}

function camelCased(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
